module decoders

go 1.23

require github.com/xssnick/tonutils-go v1.12.0

require github.com/sigurn/crc16 v0.0.0-20211026045750-20ab5afb07e3 // indirect
