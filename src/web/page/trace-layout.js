/** Where the transactions of a trace are drawn: depth to the right, leaves one below the other. */

/** Above this many, equal siblings are folded; above {@link MOST_DRAWN} nothing is drawn. */
const FOLD_ABOVE = 200;
export const MOST_DRAWN = 4_000;

/**
 * Places of a tree of `{tx_hash, children}`. Each node has a row of its own among leaves, a parent stands in the middle of
 * its children, so none overlap. `alike(hash)` is equal for siblings that may be folded when they have no children.
 *
 * @returns {{nodes: {hash: string, column: number, row: number, folded: number, parent: number | null}[], columns: number, rows: number}}
 */
export function layOut(root, alike) {
  const fold = size(root) > FOLD_ABOVE;
  const nodes = [];
  let rows = 0;
  let columns = 0;
  // Without recursion: a trace may be thousands deep.
  const stack = [{ node: root, column: 0, parent: null, folded: 1, at: null }];
  while (stack.length > 0) {
    const next = stack[stack.length - 1];
    if (next.at === null) {
      next.at = nodes.length;
      nodes.push({ hash: next.node.tx_hash, column: next.column, row: 0, folded: next.folded, parent: next.parent });
      columns = Math.max(columns, next.column + 1);
      next.children = childrenOf(next.node, fold ? alike : null);
      next.first = null;
      next.done = 0;
      if (next.children.length === 0) {
        nodes[next.at].row = rows++;
        stack.pop();
        continue;
      }
    }
    if (next.done < next.children.length) {
      const { node, folded } = next.children[next.done++];
      next.last = nodes.length;
      next.first ??= next.last;
      stack.push({ node, column: next.column + 1, parent: next.at, folded, at: null });
      continue;
    }
    nodes[next.at].row = (nodes[next.first].row + nodes[next.last].row) / 2;
    stack.pop();
  }
  return { nodes, columns, rows };
}

function childrenOf({ children = [] }, alike) {
  if (alike === null) return children.map((node) => ({ node, folded: 1 }));
  const kept = [];
  const leaves = new Map();
  for (const node of children) {
    const key = (node.children ?? []).length === 0 ? alike(node.tx_hash) : null;
    const before = key === null ? undefined : leaves.get(key);
    if (before !== undefined) {
      before.folded++;
      continue;
    }
    const child = { node, folded: 1 };
    if (key !== null) leaves.set(key, child);
    kept.push(child);
  }
  return kept;
}

function size(root) {
  let count = 0;
  const open = [root];
  while (open.length > 0) {
    const { children = [] } = open.pop();
    count++;
    for (const child of children) open.push(child);
  }
  return count;
}
