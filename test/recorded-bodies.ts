/**
 * Bodies and what TON Center's v3 API said of them, as recorded in public test data of the wallet kit
 * (`ton-connect/kit`, packages/walletkit/data). Nothing here was made by this project.
 */
const NOTHING = { '@type': 'nothing_from_maybe' };

function standard(address: string) {
  return { '@type': 'addr_std', anycast: NOTHING, workchain_id: '0', address };
}

function varUint(len: string, value: string) {
  return { '@type': 'var_uint', len, value };
}

const SENDER = standard('9DA971AF38D2F03ABDF308D5F91636A97E5A2B07A66C39D71D7CBAE3B032EDDC');
const RECEIVER = standard('4E3664FAEE814FBDB6C1CB36D72BAC52D15E186C11ECD664FE1B3F1A7CFD801D');
const HELLO = { '@type': 'first_from_either', value: { '@type': 'text_comment', text: 'Hello!' } };

const nftTransfer = {
  '@type': 'nft_transfer',
  query_id: '10979590341877216745',
  new_owner: RECEIVER,
  response_destination: SENDER,
  custom_payload: NOTHING,
  forward_amount: varUint('1', '1'),
  forward_payload: { '@type': 'first_from_either', value: { '@type': 'empty_cell' } },
};

function message(bounce: boolean, destination: string, value: unknown, body: unknown) {
  const nothing = { '@type': 'nanograms', amount: varUint('0', '0') };
  return {
    '@type': 'message',
    info: {
      '@type': 'int_msg_info',
      ihr_disabled: true,
      bounce,
      bounced: false,
      src: { '@type': 'addr_none' },
      dest: standard(destination),
      value: {
        '@type': 'currencies',
        grams: { '@type': 'nanograms', amount: value },
        other: { '@type': 'extra_currencies', dict: { '@type': 'hashmap_empty' } },
      },
      ihr_fee: nothing,
      fwd_fee: nothing,
      created_lt: '0',
      created_at: '0',
    },
    init: NOTHING,
    body,
  };
}

export interface Recorded {
  name: string;
  body: string;
  decoded: unknown;
}

export const recordedBodies: readonly Recorded[] = [
  { name: 'an empty body', body: 'te6cckEBAQEAAgAAAEysuc0=', decoded: { '@type': 'empty_cell' } },
  {
    name: 'a jetton transfer with a comment',
    body:
      'te6cckEBAQEAYAAAvA+KfqVkqQjJMo6ZTzD0JAgAnGzJ9d0Cn3ttg5ZtrldYpaK8MNgj2azJ/DZ+NPn7ADsAJ2pca840vA6vfMI1fkWNql+W' +
      'isHpmw51x18uuOwMu3cCAgAAAABIZWxsbyGguQis',
    decoded: {
      '@type': 'jetton_transfer',
      query_id: '7253338335086549327',
      amount: varUint('3', '1000000'),
      destination: RECEIVER,
      response_destination: SENDER,
      custom_payload: NOTHING,
      forward_ton_amount: varUint('1', '1'),
      forward_payload: HELLO,
    },
  },
  {
    name: 'the internal transfer behind it',
    body:
      'te6cckEBAQEAYAAAuxeNRRlkqQjJMo6ZTzD0JAgBO1LjXnGl4HV75hGr8ixtUvy0Vg9M2HOuOvl1x2Bl27kAJ2pca840vA6vfMI1fkWNql+W' +
      'isHpmw51x18uuOwMu3cEBAAAAACQytjY3kOAHndP',
    decoded: {
      '@type': 'jetton_internal_transfer',
      query_id: '7253338335086549327',
      amount: varUint('3', '1000000'),
      from: SENDER,
      response_address: SENDER,
      forward_ton_amount: varUint('1', '1'),
      forward_payload: HELLO,
    },
  },
  {
    name: 'the notification behind that',
    body: 'te6cckEBAQEAPQAAdnNi0JxkqQjJMo6ZTzD0JAgBO1LjXnGl4HV75hGr8ixtUvy0Vg9M2HOuOvl1x2Bl27gAAAAASGVsbG8hkmKg3w==',
    decoded: {
      '@type': 'jetton_notify',
      query_id: '7253338335086549327',
      amount: varUint('3', '1000000'),
      sender: SENDER,
      forward_payload: HELLO,
    },
  },
  {
    name: 'an NFT transfer',
    body:
      'te6cckEBAQEAUwAAoV/MPRSYX1c+Wua16YAJxsyfXdAp97bYOWba5XWKWivDDYI9msyfw2fjT5+wA7ACdqXGvONLwOr3zCNX5FjapflorB6Z' +
      'sOdcdfLrjsDLt3AgKEEHvN4=',
    decoded: nftTransfer,
  },
  {
    name: 'a signed body of a wallet v4, which no opcode tells',
    body:
      'te6cckEBAwEA2wABnPCjSd91AnrqubcdLDdxDfqfWFGFohuBvetLDlaYcf0DLHYbBWCgqBPaG5tR0OtPsPi6QhiMVpzmUQaxtvaZ/gQpqaMX' +
      'aI5KAwAAANQAAwEBaGIAZQZ+qM+7GIFa32Ts8dehrJdRsX27n9GM9QTieLFguPAgL68IAAAAAAAAAAAAAAAAAAECAKFfzD0UmF9XPlrmtemA' +
      'CcbMn13QKfe22Dlm2uV1ilorww2CPZrMn8Nn40+fsAOwAnalxrzjS8Dq98wjV+RY2qX5aKwembDnXHXy647Ay7dwIChUh8jg',
    decoded: {
      '@type': 'wallet_signed_v4',
      signature:
        'F0A349DF75027AEAB9B71D2C37710DFA9F585185A21B81BDEB4B0E569871FD03' +
        '2C761B0560A0A813DA1B9B51D0EB4FB0F8BA42188C569CE65106B1B6F699FE04',
      subwallet_id: '698983191',
      valid_until: '1754155523',
      msg_seqno: '212',
      op: {
        '@type': 'simple_send',
        msgs: {
          '@type': 'msgs_1',
          msg_1: {
            mode: '3',
            msg: message(
              true,
              'CA0CFD519F763102B5BEC9D9E3AF43592EA362FB773FA319EA09C4F162C171E0',
              varUint('4', '100000000'),
              { '@type': 'second_from_either', value: { cell_reference: nftTransfer } },
            ),
          },
        },
      },
    },
  },
  {
    name: 'a signed request to a wallet v5',
    body:
      'te6cckEBBAEAkgABoXNpZ25///8RaO2BaQAAAK6IRIbSOWGq3ehuDTUDIxjMjAwEWAB3ydraam4smWsmbpQ9XHowIjKyWylf9uwS6FmD115j' +
      'eJXg9F9Yw+o0vKzAIAECCg7DyG0DAgMAAABiQgBeDbpHrpNbpsK7zH+m6hKVFbznqNkZVyDfD4z0Zsqj24gIAAAAAAAAAAAAAAAAAG+THcA=',
    decoded: {
      '@type': 'w5_external_signed_request',
      request: {
        '@type': 'w5_signed_request',
        wallet_id: '2147483409',
        valid_until: '1760395625',
        msg_seqno: '174',
        inner: {
          '@type': 'w5_actions_request',
          out_actions: {
            '@type': 'something_from_maybe',
            value: {
              cell_reference: {
                '@type': 'out_list',
                prev: { '@type': 'out_list_empty' },
                action: {
                  '@type': 'action_send_msg',
                  mode: '3',
                  out_msg: message(
                    false,
                    'BC1B748F5D26B74D857798FF4DD4252A2B79CF51B232AE41BE1F19E8CD9547B7',
                    varUint('1', '1'),
                    { '@type': 'first_from_either', value: { '@type': 'empty_cell' } },
                  ),
                },
              },
            },
          },
          extended_actions: NOTHING,
        },
        signature:
          '21121B48E586AB77A1B834D40C8C63323030116001DF276B69A9B8B265AC99BA' +
          '50F571E8C088CAC96CA57FDBB04BA1660F5D798DE25783D17D630FA8D2F2B300',
      },
    },
  },
];
