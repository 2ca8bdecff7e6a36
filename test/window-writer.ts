/** A process that writes recorded steps into a window, one commit each, until it is killed: `folder maxBytes`. */
import { openWindow } from '../src/window/window.ts';
import { recordedSteps } from './recorded-steps.ts';

const [folder, maxBytes] = process.argv.slice(2);
const window = openWindow({ folder, maxBytes: Number(maxBytes) });
const steps = await recordedSteps('mainnet-genesis_a');
const last = steps[steps.length - 1].step.mcSeqno;
for (const arrival of steps) {
  await window.apply([arrival], async () => null);
  process.stdout.write(`${window.state?.head}\n`);
  // Round and round, so that it is killed in the middle whenever that is.
  if (arrival.step.mcSeqno === last) await window.clear();
}
await window.close();
