package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/ton"
	"github.com/xssnick/tonutils-go/ton/jetton"
	"github.com/xssnick/tonutils-go/ton/nft"
)

// Tokens that the test asks for, through the package's clients of jettons and NFTs.
type tokens struct {
	Masters     []string `json:"masters"`
	Collections []string `json:"collections"`
	Items       []string `json:"items"`
	Holders     []struct {
		Jetton string `json:"jetton"`
		Owner  string `json:"owner"`
	} `json:"holders"`
}

type masterFound struct {
	Address        string            `json:"address"`
	TotalSupply    string            `json:"total_supply"`
	Mintable       bool              `json:"mintable"`
	AdminAddress   *string           `json:"admin_address"`
	WalletCodeHash string            `json:"jetton_wallet_code_hash"`
	Content        map[string]string `json:"jetton_content"`
}

type walletFound struct {
	Address string `json:"address"`
	Balance string `json:"balance"`
}

type collectionFound struct {
	Address       string            `json:"address"`
	NextItemIndex string            `json:"next_item_index"`
	OwnerAddress  *string           `json:"owner_address"`
	Content       map[string]string `json:"collection_content"`
}

type itemFound struct {
	Address           string  `json:"address"`
	Init              bool    `json:"init"`
	Index             string  `json:"index"`
	CollectionAddress *string `json:"collection_address"`
	OwnerAddress      *string `json:"owner_address"`
	// Of an item alone its own; of one in a collection what that makes of it.
	Content map[string]string `json:"content"`
	// Where the collection says that the item with its index is.
	Confirmed *string `json:"confirmed"`
}

type tokensFound struct {
	Masters     []masterFound     `json:"masters"`
	Holders     []walletFound     `json:"holders"`
	Collections []collectionFound `json:"collections"`
	Items       []itemFound       `json:"items"`
}

func readTokens(ctx context.Context, api ton.APIClientWrapped, asked *tokens) (*tokensFound, error) {
	found := &tokensFound{}
	for _, raw := range asked.Masters {
		data, err := jetton.NewJettonMasterClient(api, address.MustParseRawAddr(raw)).GetJettonData(ctx)
		if err != nil {
			return nil, fmt.Errorf("jetton %s: %w", raw, err)
		}
		found.Masters = append(found.Masters, masterFound{
			Address:        raw,
			TotalSupply:    data.TotalSupply.String(),
			Mintable:       data.Mintable,
			AdminAddress:   rawOf(data.AdminAddr),
			WalletCodeHash: base64.StdEncoding.EncodeToString(data.WalletCode.Hash()),
			Content:        contentOf(data.Content),
		})
	}
	for _, holder := range asked.Holders {
		master := jetton.NewJettonMasterClient(api, address.MustParseRawAddr(holder.Jetton))
		wallet, err := master.GetJettonWallet(ctx, address.MustParseRawAddr(holder.Owner))
		if err != nil {
			return nil, fmt.Errorf("wallet of %s: %w", holder.Owner, err)
		}
		balance, err := wallet.GetBalance(ctx)
		if err != nil {
			return nil, fmt.Errorf("balance of %s: %w", holder.Owner, err)
		}
		found.Holders = append(found.Holders, walletFound{Address: *rawOf(wallet.Address()), Balance: balance.String()})
	}
	for _, raw := range asked.Collections {
		data, err := nft.NewCollectionClient(api, address.MustParseRawAddr(raw)).GetCollectionData(ctx)
		if err != nil {
			return nil, fmt.Errorf("collection %s: %w", raw, err)
		}
		found.Collections = append(found.Collections, collectionFound{
			Address:       raw,
			NextItemIndex: data.NextItemIndex.String(),
			OwnerAddress:  rawOf(data.OwnerAddress),
			Content:       contentOf(data.Content),
		})
	}
	for _, raw := range asked.Items {
		item, err := readItem(ctx, api, raw)
		if err != nil {
			return nil, fmt.Errorf("item %s: %w", raw, err)
		}
		found.Items = append(found.Items, *item)
	}
	return found, nil
}

func readItem(ctx context.Context, api ton.APIClientWrapped, raw string) (*itemFound, error) {
	data, err := nft.NewItemClient(api, address.MustParseRawAddr(raw)).GetNFTData(ctx)
	if err != nil {
		return nil, err
	}
	found := &itemFound{
		Address:           raw,
		Init:              data.Initialized,
		Index:             data.Index.String(),
		CollectionAddress: rawOf(data.CollectionAddress),
		OwnerAddress:      rawOf(data.OwnerAddress),
		Content:           contentOf(data.Content),
	}
	if found.CollectionAddress == nil {
		return found, nil
	}
	collection := nft.NewCollectionClient(api, data.CollectionAddress)
	confirmed, err := collection.GetNFTAddressByIndex(ctx, new(big.Int).Set(data.Index))
	if err != nil {
		return nil, err
	}
	found.Confirmed = rawOf(confirmed)
	full, err := collection.GetNFTContent(ctx, data.Index, data.Content)
	if err != nil {
		return nil, err
	}
	found.Content = contentOf(full)
	return found, nil
}

// As v3 spells it, nil for none.
func rawOf(addr *address.Address) *string {
	if addr == nil || addr.IsAddrNone() {
		return nil
	}
	raw := strings.ToUpper(addr.StringRaw())
	return &raw
}

// What the package reads of a content, without what is empty there: it reads no values in chunks.
func contentOf(content nft.ContentAny) map[string]string {
	found := map[string]string{}
	put := func(name, value string) {
		if value != "" {
			found[name] = value
		}
	}
	chain := func(on *nft.ContentOnchain) {
		for _, name := range []string{"name", "description", "image", "symbol", "decimals"} {
			put(name, on.GetAttribute(name))
		}
	}
	switch one := content.(type) {
	case *nft.ContentOffchain:
		put("uri", one.URI)
	case *nft.ContentSemichain:
		put("uri", one.URI)
		chain(&one.ContentOnchain)
	case *nft.ContentOnchain:
		chain(one)
	}
	return found
}
