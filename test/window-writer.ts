/** A process that writes recorded steps into a window, one commit each, until it is killed: `folder maxBytes`. */
import { openWindow } from '../src/window/window.ts';
import { recordedSteps } from './recorded-steps.ts';

const [folder, maxBytes] = process.argv.slice(2);
const window = openWindow({ folder, maxBytes: Number(maxBytes) });
const steps = await recordedSteps('mainnet-genesis_a');
// Round and round, so that it is killed in the middle whenever that is.
for (;;) {
  for (const arrival of steps) {
    await window.apply([arrival], async () => null);
    process.stdout.write(`${window.state?.head}\n`);
  }
  await window.clear();
}
