/** The value of a metric in what `/metrics` prints; NaN while it is not there. @param name with its labels, if any */
export function metricOf(text: string, name: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? Number.NaN);
}
