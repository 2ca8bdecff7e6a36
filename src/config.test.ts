import { expect, it } from 'vitest';
import { readConfig } from './config.ts';

it.each([
  ['port', 'abc', 'a whole number is wanted'],
  ['port', '', 'a whole number is wanted'],
  ['steps-hours', ' ', 'a whole number is wanted'],
  ['devnet-rate', '', 'a number is wanted'],
  ['port', '99999', 'Too big: expected number to be <=65535'],
  ['feed-v1', 'maybe', 'Invalid option: expected one of '],
  ['window-bytes', '5X', 'a number of bytes such as 512, 64k, 256M or 8G'],
  ['dns-collections', 'xyz', 'xyz is no address'],
  ['kafka-brokers', ' , ,', 'a list such as kafka1:9092,kafka2:9092 is wanted'],
  ['ipfs-gateways', 'ftp://a', 'ftp://a is no http or https URL'],
])('--%s %s is refused with what is wanted', (flag, value, why) => {
  expect(() => readConfig([`--${flag}`, value], {})).toThrow(`--${flag}: "${value}" is not allowed: ${why}`);
});

it('names the environment variable that is refused', () => {
  expect(() => readConfig([], { TONSTREAM_PORT: 'abc' })).toThrow('TONSTREAM_PORT: "abc" is not allowed');
});

it('takes addresses of the masterchain in their raw form as words and values', () => {
  const elector = `-1:${'33'.repeat(32)}`;
  const { words, config } = readConfig(['faucet', elector, '5', '--dns-collections', elector], {});
  expect(words).toEqual(['faucet', elector, '5']);
  expect(config.dnsCollections).toEqual([elector]);
  expect(() => readConfig(['faucet', '-1'], {})).toThrow("Unknown option '-1'");
});

it('refuses the flags of other commands', () => {
  const flags = { loose: { type: 'boolean', of: ['import', 'check'] }, help: { type: 'boolean' } } as const;
  expect(readConfig(['check', '--loose'], {}, flags).flags).toMatchObject({ loose: true });
  expect(() => readConfig(['start', '--loose'], {}, flags)).toThrow(
    '--loose is a flag of import and check, not of start',
  );
  expect(readConfig(['start', '--help'], {}, flags).flags).toMatchObject({ help: true });
});

it('refuses a password in the URL of ClickHouse, which would be printed and not used, and does not repeat it', () => {
  const url = 'http://me:geheim@clickhouse:8123';
  expect(() => readConfig(['--clickhouse-url', url], {})).toThrow(
    '--clickhouse-url: "http://(hidden)@clickhouse:8123" is not allowed: name the user with --clickhouse-user, and give the password in CLICKHOUSE_PASSWORD',
  );
});
