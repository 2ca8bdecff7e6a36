/** Blocks that nobody would collate: small, and large once each of their transactions stands by itself. */
import { Builder, Cell, parseBoc, toBoc } from '../src/chain/builder.ts';

/** A tree of so many cells that are full and differ. */
export function ballast(cells: number): Cell {
  let level = Array.from({ length: cells }, (_, i) => new Builder().bytes(Buffer.alloc(127, `${i} `)).cell());
  while (level.length > 1) {
    const next: Cell[] = [];
    for (let at = 0; at < level.length; at += 4) next.push(joined(level.slice(at, at + 4)));
    level = next;
  }
  return level[0];
}

function joined(cells: readonly Cell[]): Cell {
  return cells.reduce((builder, cell) => builder.ref(cell), new Builder()).cell();
}

/** The block with the transactions that it has, each of them begun by one message from outside with this body. */
export function heavyBlock(bytes: Buffer, body: Cell): Buffer {
  const to = new Builder().u(0b100, 3).i(0, 8).bytes(Buffer.alloc(32, 7));
  const message = new Builder().u(0b1000, 4).append(to.cell()).u(0, 4).bit(0).bit(1).ref(body).cell();
  const built = new Map<Cell, Cell>();
  const changed = (cell: Cell): Cell => {
    const known = built.get(cell);
    if (known !== undefined) return known;
    const refs = isTransaction(cell) ? [begunBy(cell.refs[0], message), ...cell.refs.slice(1)] : cell.refs.map(changed);
    const same = refs.every((ref, i) => ref === cell.refs[i]);
    const made = same ? cell : new Cell(cell.data, cell.bits, refs, cell.exotic);
    built.set(cell, made);
    return made;
  };
  const root = parseBoc(bytes);
  const extra = root.refs[3];
  const accounts = new Cell(extra.data, extra.bits, [...extra.refs.slice(0, 2), changed(extra.refs[2])]);
  return toBoc(new Cell(root.data, root.bits, [...root.refs.slice(0, 3), accounts]));
}

/** `transaction$0111`, whose first reference holds its messages. */
function isTransaction(cell: Cell): boolean {
  return cell.refs.length === 3 && cell.bits >= 700 && cell.data[0] >> 4 === 0b0111;
}

/** `in_msg:(Maybe ^(Message Any)) out_msgs:(HashmapE 15 ^(Message Any))`. */
function begunBy(messages: Cell, message: Cell): Cell {
  const [inMsg, outMsgs] = [messages.data[0] >> 7, (messages.data[0] >> 6) & 1];
  const begun = new Builder().bit(1).bit(outMsgs).ref(message);
  for (const ref of messages.refs.slice(inMsg)) begun.ref(ref);
  return begun.cell();
}
