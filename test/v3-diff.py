#!/usr/bin/env python3
"""The recordings' own comparer, with two corrections; same options, same last line.

  v3-diff.py TOOL [options of the tool]

1. The recordings' README allows more `interfaces` than the reference has, yet the tool compares the lengths of two lists
   before it comes to that allowance. Here the allowance comes first, for lists too: no mark may be missing.
2. Some recorded pages of /messages hold the right rows in the order in which the reference's database joined them, not in
   the contract's (`created_lt <sort>, msg_hash <sort>`, `created_at` with a time window; nulls first for desc, last for
   asc). Their rows are put in the contract's order before they are compared; which rows a page has stays as recorded.
"""
import base64
import importlib.machinery
import importlib.util
import sys
import urllib.parse


def load(path):
    loader = importlib.machinery.SourceFileLoader('v3_diff', path)
    spec = importlib.util.spec_from_loader('v3_diff', loader)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True  # the tool may lie in a folder that is not ours
    loader.exec_module(module)
    return module


def allow_more_interfaces(tool):
    of_tool = tool.Cmp.same

    def same(self, e, c, path=''):
        listed = isinstance(e, list) and isinstance(c, list)
        if path.rsplit('.', 1)[-1] != 'interfaces' or not listed or self.ignored(path):
            return of_tool(self, e, c, path)
        if not set(e) <= set(c):
            return self.fail(path, e, c)
        if set(e) != set(c):
            self.soft['more interfaces than the reference'] += 1
        return True

    def judged(e, c):
        options = type('Options', (), {'ignore': [], 'strict_boc': False, 'strict_states': False, 'strict_gas': False})
        return tool.Cmp(options, 'addressBook').same({'interfaces': e}, {'interfaces': c})

    before = judged(['a'], ['a', 'b'])
    tool.Cmp.same = same
    after = [judged(['a'], ['a', 'b']), judged(['a', 'b'], ['a']), judged(['a'], ['b']), judged([], None)]
    if before or after != [True, False, False, True]:
        sys.exit(f'the first correction does not fit this comparer: {before} {after}')


def message_order(path):
    """-> (name of the ordering column, is descending) of a request for messages"""
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query, keep_blank_values=True))
    key = 'created_at' if {'start_utime', 'end_utime'} & set(query) else 'created_lt'
    return key, query.get('sort', 'desc').lower() not in ('asc', 'a')


def in_order(path, rows):
    key, descending = message_order(path)
    # Nulls are the greatest in both directions: last for asc, first for desc.
    rank = lambda row: (row[key] is None, int(row[key] or 0), base64.b64decode(row['hash']))
    return sorted(rows, key=rank, reverse=descending)


def order_messages(tool):
    of_tool = tool.compare
    moved = []

    def compare(case, status, body, opts):
        if case['endpoint'] == 'messages' and case['status'] == 200:
            recorded = case['body']['messages']
            rows = in_order(case['path'], recorded)
            key = message_order(case['path'])[0]
            if [row[key] for row in rows] != [row[key] for row in recorded]:
                moved.append(case['n'])
            case = dict(case, body=dict(case['body'], messages=rows))
        return of_tool(case, status, body, opts)

    tool.compare = compare
    return moved


def main():
    path = sys.argv.pop(1)
    tool = load(path)
    allow_more_interfaces(tool)
    moved = order_messages(tool)
    status = tool.main()
    print(f'{len(set(moved))} pages put in order')
    return status


if __name__ == '__main__':
    sys.exit(main())
