// Reads every block of a folder with tonutils-go and prints, for each, its id and the hashes of its transactions:
// one line a block, to be compared with what the devnet says it made.
package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

func main() {
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*.boc"))
	if err != nil {
		panic(err)
	}
	sort.Strings(files)
	for _, file := range files {
		line, err := describe(file)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			os.Exit(1)
		}
		fmt.Println(line)
	}
}

func describe(file string) (string, error) {
	bytes, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	root, err := cell.FromBOC(bytes)
	if err != nil {
		return "", err
	}
	var block tlb.Block
	if err := tlb.LoadFromCell(&block, root.BeginParse()); err != nil {
		return "", err
	}
	hashes, err := transactions(block)
	if err != nil {
		return "", err
	}
	info := block.BlockInfo
	return fmt.Sprintf("%d:%016x:%d %s %s", info.Shard.WorkchainID, uint64(info.Shard.GetShardID()), info.SeqNo,
		hex.EncodeToString(root.Hash()), strings.Join(hashes, ",")), nil
}

func transactions(block tlb.Block) ([]string, error) {
	var blocks tlb.ShardAccountBlocks
	if err := tlb.LoadFromCell(&blocks, block.Extra.ShardAccountBlocks.BeginParse()); err != nil {
		return nil, err
	}
	var hashes []string
	for _, entry := range blocks.Accounts.All() {
		value := entry.Value.BeginParse()
		var fees tlb.CurrencyCollection
		if err := tlb.LoadFromCell(&fees, value); err != nil {
			return nil, err
		}
		var account tlb.AccountBlock
		if err := tlb.LoadFromCell(&account, value); err != nil {
			return nil, err
		}
		for _, item := range account.Transactions.All() {
			slice := item.Value.BeginParse()
			if err := tlb.LoadFromCell(&fees, slice); err != nil {
				return nil, err
			}
			transaction, err := slice.LoadRef()
			if err != nil {
				return nil, err
			}
			cell := transaction.MustToCell()
			var parsed tlb.Transaction
			if err := tlb.LoadFromCell(&parsed, cell.BeginParse()); err != nil {
				return nil, err
			}
			hashes = append(hashes, hex.EncodeToString(cell.Hash()))
		}
	}
	sort.Strings(hashes)
	return hashes, nil
}
