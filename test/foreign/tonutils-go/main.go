// Reads a devnet through tonutils-go and prints what it found as JSON. Under its default policy it checks proofs, under
// "secure" signatures, too.
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/liteclient"
	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// What the test asks for.
type question struct {
	Accounts []string `json:"accounts"`
	Nobody   string   `json:"nobody"`
	Seqno    uint32   `json:"seqno"`
	Message  []byte   `json:"message"`
	// When there is this, only this is asked.
	Tokens *tokens `json:"tokens"`
}

type blockFound struct {
	Workchain    int32    `json:"workchain"`
	Seqno        uint32   `json:"seqno"`
	Root         string   `json:"root"`
	Transactions []string `json:"transactions"`
}

type accountFound struct {
	Address      string   `json:"address"`
	Balance      string   `json:"balance"`
	LastHash     string   `json:"lastHash"`
	Transactions []string `json:"transactions"`
	WalletSeqno  int64    `json:"walletSeqno"`
}

type answer struct {
	Master      uint32         `json:"master"`
	MasterRoot  string         `json:"masterRoot"`
	Accounts    []accountFound `json:"accounts"`
	NobodyIsOne bool           `json:"nobodyIsOne"`
	Blocks      []blockFound   `json:"blocks"`
	GlobalID    int64          `json:"globalId"`
	WaitedFor   uint32         `json:"waitedFor"`
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3] == "secure"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(configPath, questionPath string, secure bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	text, err := os.ReadFile(questionPath)
	if err != nil {
		return err
	}
	var asked question
	if err = json.Unmarshal(text, &asked); err != nil {
		return err
	}
	config, err := liteclient.GetConfigFromFile(configPath)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	pool := liteclient.NewConnectionPool()
	if err = pool.AddConnectionsFromConfig(ctx, config); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	api := ton.NewAPIClient(pool)
	if secure {
		api = ton.NewAPIClient(pool, ton.ProofCheckPolicySecure)
		api.SetTrustedBlockFromConfig(config)
	}
	var found any
	if asked.Tokens != nil {
		found, err = readTokens(ctx, api, asked.Tokens)
	} else {
		found, err = read(ctx, api, asked)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

func read(ctx context.Context, api *ton.APIClient, asked question) (*answer, error) {
	master, err := api.CurrentMasterchainInfo(ctx)
	if err != nil {
		return nil, fmt.Errorf("masterchain info: %w", err)
	}
	found := &answer{Master: master.SeqNo, MasterRoot: hex.EncodeToString(master.RootHash)}
	for _, raw := range asked.Accounts {
		account, err := readAccount(ctx, api, master, raw)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", raw, err)
		}
		found.Accounts = append(found.Accounts, *account)
	}
	nobody, err := api.GetAccount(ctx, master, address.MustParseRawAddr(asked.Nobody))
	if err != nil {
		return nil, fmt.Errorf("account that is none: %w", err)
	}
	found.NobodyIsOne = nobody.IsActive
	if found.Blocks, err = readBlocks(ctx, api, asked.Seqno); err != nil {
		return nil, fmt.Errorf("masterchain block %d: %w", asked.Seqno, err)
	}
	params, err := api.GetBlockchainConfig(ctx, master, 19)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if found.GlobalID, err = params.Get(19).BeginParse().LoadInt(32); err != nil {
		return nil, err
	}
	_, err = api.LookupBlock(ctx, -1, -0x8000000000000000, 1<<30)
	if !errors.Is(err, ton.ErrBlockNotFound) {
		return nil, fmt.Errorf("a block that is not there: %v", err)
	}
	old, err := api.LookupBlock(ctx, -1, -0x8000000000000000, asked.Seqno)
	if err != nil {
		return nil, fmt.Errorf("lookup: %w", err)
	}
	if err = api.VerifyProofChain(ctx, master, old); err != nil {
		return nil, fmt.Errorf("proof of an older block: %w", err)
	}
	return found, send(ctx, api, asked.Message, found)
}

func readAccount(ctx context.Context, api *ton.APIClient, master *ton.BlockIDExt, raw string) (*accountFound, error) {
	addr := address.MustParseRawAddr(raw)
	account, err := api.GetAccount(ctx, master, addr)
	if err != nil {
		return nil, err
	}
	found := &accountFound{
		Address:  raw,
		Balance:  account.State.Balance.Nano().String(),
		LastHash: hex.EncodeToString(account.LastTxHash),
	}
	list, err := api.ListTransactions(ctx, addr, 16, account.LastTxLT, account.LastTxHash)
	if err != nil {
		return nil, fmt.Errorf("transactions: %w", err)
	}
	for _, transaction := range list {
		found.Transactions = append(found.Transactions, hex.EncodeToString(transaction.Hash))
	}
	result, err := api.RunGetMethod(ctx, master, addr, "seqno")
	if err != nil {
		return nil, fmt.Errorf("get-method: %w", err)
	}
	seqno, err := result.Int(0)
	if err != nil {
		return nil, err
	}
	found.WalletSeqno = seqno.Int64()
	return found, nil
}

// The masterchain block and its shards, each with its transactions, asked for one by one.
func readBlocks(ctx context.Context, api *ton.APIClient, seqno uint32) ([]blockFound, error) {
	master, err := api.LookupBlock(ctx, -1, -0x8000000000000000, seqno)
	if err != nil {
		return nil, err
	}
	shards, err := api.GetBlockShardsInfo(ctx, master)
	if err != nil {
		return nil, fmt.Errorf("shards: %w", err)
	}
	var list []blockFound
	for _, id := range append(shards, master) {
		if _, err = api.GetBlockData(ctx, id); err != nil {
			return nil, fmt.Errorf("block: %w", err)
		}
		found := blockFound{Workchain: id.Workchain, Seqno: id.SeqNo, Root: hex.EncodeToString(id.RootHash)}
		ids, more, err := api.GetBlockTransactionsV2(ctx, id, 100)
		if err != nil || more {
			return nil, fmt.Errorf("list of transactions, more %v: %w", more, err)
		}
		for _, each := range ids {
			owner := address.NewAddress(0, byte(id.Workchain), each.Account)
			transaction, err := api.GetTransaction(ctx, id, owner, each.LT)
			if err != nil {
				return nil, fmt.Errorf("transaction: %w", err)
			}
			if !bytes.Equal(transaction.Hash, each.Hash) {
				return nil, errors.New("the list has another hash than the transaction")
			}
			found.Transactions = append(found.Transactions, hex.EncodeToString(each.Hash))
		}
		list = append(list, found)
	}
	return list, nil
}

// Sends the message and waits for the masterchain block after the next.
func send(ctx context.Context, api *ton.APIClient, boc []byte, found *answer) error {
	root, err := cell.FromBOC(boc)
	if err != nil {
		return err
	}
	var message tlb.ExternalMessage
	if err = tlb.LoadFromCell(&message, root.BeginParse()); err != nil {
		return err
	}
	if err = api.SendExternalMessage(ctx, &message); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	head, err := api.GetMasterchainInfo(ctx)
	if err != nil {
		return err
	}
	waited, err := api.WaitForBlock(head.SeqNo + 2).GetMasterchainInfo(ctx)
	if err != nil {
		return fmt.Errorf("wait: %w", err)
	}
	found.WaitedFor = waited.SeqNo
	return nil
}
