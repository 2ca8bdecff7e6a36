/** As much of an element as lists need. */
export class FakeElement {
  readonly dataset: Record<string, string> = {};
  textContent = '';
  isConnected = false;
  readonly children: (FakeElement | string)[] = [];
  private readonly listeners = new Map<string, () => void>();
  private parent: FakeElement | null = null;
  constructor(readonly tag: string) {}
  setAttribute(_name: string, _value: string) {}
  append(...children: (FakeElement | string)[]) {
    for (const child of children) if (child instanceof FakeElement) child.parent = this;
    this.children.push(...children);
  }
  replaceChildren(...children: (FakeElement | string)[]) {
    this.children.length = 0;
    this.append(...children);
  }
  remove() {
    this.isConnected = false;
    const { children = [] } = this.parent ?? {};
    children.splice(children.indexOf(this), 1);
  }
  addEventListener(name: string, listener: () => void) {
    this.listeners.set(name, listener);
  }
  click() {
    this.listeners.get('click')?.();
  }
  all(tag: string): FakeElement[] {
    const inside = this.children.flatMap((child) => (child instanceof FakeElement ? child.all(tag) : []));
    return this.tag === tag ? [this, ...inside] : inside;
  }
  querySelector(tag: string) {
    return this.all(tag)[0] ?? null;
  }
}
