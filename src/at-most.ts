const ONE = (): number => 1;

/**
 * The limit of an `LRUCache` by its entries, for large ones: its own `max` takes the room of all of them at once (70 us
 * and 32 KB for a thousand), and a process has dozens of caches that stay nearly empty. As quick as `max` otherwise.
 */
export const atMost = (entries: number) => ({ maxSize: entries, sizeCalculation: ONE });
