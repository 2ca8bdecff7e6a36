import { describe, expect, it, vi } from 'vitest';
import { createQueryGate, Overloaded } from './gate.ts';

function deferred() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe('the query gate', () => {
  it('runs so many at a time, the others in order of arrival', async () => {
    const gate = createQueryGate({ maxConcurrent: 2, maxQueued: 10 });
    const started: number[] = [];
    const ends = Array.from({ length: 5 }, deferred);
    const runs = ends.map((end, i) =>
      gate.run(async () => {
        started.push(i);
        await end.promise;
        return i;
      }),
    );
    expect([started, gate.running, gate.queued]).toEqual([[0, 1], 2, 3]);
    ends[1].resolve();
    await runs[1];
    await vi.waitFor(() => expect(started).toEqual([0, 1, 2]));
    for (const end of ends) end.resolve();
    expect(await Promise.all(runs)).toEqual([0, 1, 2, 3, 4]);
    expect([started, gate.running, gate.queued]).toEqual([[0, 1, 2, 3, 4], 0, 0]);
  });

  it('refuses what the queue cannot hold and tells the metrics', async () => {
    const metrics = { depth: vi.fn(), rejected: vi.fn(), waited: vi.fn() };
    const gate = createQueryGate({ maxConcurrent: 1, maxQueued: 1, metrics });
    const end = deferred();
    const first = gate.run(() => end.promise);
    const second = gate.run(async () => 'second');
    await expect(gate.run(async () => 'third')).rejects.toMatchObject({ code: 'overloaded', running: 1, queued: 1 });
    await expect(gate.run(async () => 'fourth')).rejects.toBeInstanceOf(Overloaded);
    end.resolve();
    await first;
    expect(await second).toBe('second');
    expect(metrics.rejected).toHaveBeenCalledTimes(2);
    expect(metrics.waited).toHaveBeenCalledTimes(1);
    expect(metrics.depth).toHaveBeenCalledWith(1, 1);
    expect(metrics.depth).toHaveBeenLastCalledWith(0, 0);
  });

  it('lets aborted entries leave the queue', async () => {
    const gate = createQueryGate({ maxConcurrent: 1, maxQueued: 2 });
    const end = deferred();
    const first = gate.run(() => end.promise);
    const abort = new AbortController();
    const task = vi.fn(async () => undefined);
    const second = gate.run(task, abort.signal);
    const third = gate.run(async () => 'third');
    abort.abort(new Error('gone'));
    await expect(second).rejects.toThrow('gone');
    expect(gate.queued).toBe(1);
    end.resolve();
    await first;
    expect(await third).toBe('third');
    expect(task).not.toHaveBeenCalled();
    await expect(gate.run(task, abort.signal)).rejects.toThrow('gone');
    expect([gate.running, gate.queued]).toEqual([0, 0]);
  });

  it('frees the place of a task that fails', async () => {
    const gate = createQueryGate({ maxConcurrent: 1, maxQueued: 0 });
    await expect(gate.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await gate.run(async () => 1)).toBe(1);
  });
});
