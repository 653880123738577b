/** `1 Person`, `3 Personen`. */
export const count = (many: number, one: string, several: string) => `${many} ${many === 1 ? one : several}`
