import type { api } from '../../core/api.ts'
import type { Client } from '../../core/contract/index.ts'

/** The daemon's rooms as functions: `api.rollouts.pauseRollout({ params, body })`. */
export type Api = { readonly [Room in keyof typeof api]: Client<(typeof api)[Room]> }

type ApiDeps = Readonly<{
  baseUrl: string
  headers: () => Record<string, string> | Promise<Record<string, string>>
  fetch?: typeof globalThis.fetch
}>

/** Loads the contracts, which is the heavier part of a start, and makes a client of each. */
export async function connect(deps: ApiDeps): Promise<Api> {
  const [{ api: contracts }, { makeClient }, { settlingFetch }] = await Promise.all([
    import('../../core/api.ts'),
    import('../../core/contract/index.ts'),
    import('../../node/fetch.ts'),
  ])
  const reachable = { ...deps, fetch: deps.fetch ?? settlingFetch }
  return Object.fromEntries(Object.entries(contracts).map(([room, contract]) => [room, makeClient(contract, reachable)])) as Api
}
