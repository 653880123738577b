import express from 'express'

/** Whose word counts for whom they ask for, as the running daemon reads the setting. Throws a TypeError for what is no address, network or known name. */
export function trustOf(trustedProxies: readonly string[]): (address: string) => boolean {
  const app = express()
  setTrust(app, trustedProxies)
  const trusts = app.get('trust proxy fn') as (address: string, hop: number) => boolean
  return (address) => trusts(address, 0)
}

export const setTrust = (app: express.Express, trustedProxies: readonly string[]): void => {
  app.set('trust proxy', trustedProxies.length > 0 ? [...trustedProxies] : false)
}
