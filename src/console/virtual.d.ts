declare module 'virtual:endpoints' {
  /** Feature, then name in the contract. */
  export const endpoints: Readonly<Record<string, Readonly<Record<string, import('../core/contract/index.ts').EndpointShape>>>>
}
