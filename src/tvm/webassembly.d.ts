/** What Node's types leave out of WebAssembly, as far as it is used here. */
declare namespace WebAssembly {
  type Module = object;
  type Imports = Record<string, Record<string, unknown>>;
  class Instance {
    constructor(module: Module, imports: Imports);
    readonly exports: Record<string, unknown>;
  }
  function compile(bytes: Uint8Array): Promise<Module>;
}
