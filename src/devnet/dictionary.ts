export * from '../chain/dictionary.ts';
