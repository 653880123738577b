declare module 'virtual:endpoints' {
  export type Slim = readonly [
    method: import('../core/contract/index.ts').EndpointShape['method'],
    path: string,
    role: import('../core/contract/index.ts').AdminRole,
    returns?: string,
    part?: string,
  ]
  /** Feature, then name in the contract. */
  export const endpoints: Readonly<Record<string, Readonly<Record<string, Slim>>>>
}
