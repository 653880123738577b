import { type Clock, isoNow, type Random, type Secret } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { type Keyring, type SealedColumn, seal, unseal } from '../sealed/index.ts'

/** The token of one account of the platform in each box, sealed to the box. */
type TokenTable = { box_id: string; sealed: string; updated_at: string }

declare module '../db/database.ts' {
  interface Tables {
    /** Tokens of the administrator. */
    homeserver_tokens: TokenTable
    bot_tokens: TokenTable
  }
}

export type TokenDeps = Readonly<{ db: Db; clock: Clock; random: Random; keyring: Keyring }>

const tables = { admin: 'homeserver_tokens', bot: 'bot_tokens' } as const
export type TokenOf = keyof typeof tables

/** The sealed columns of this feature, for `tenantryd rekey`. */
export const homeserverSealedColumns: readonly SealedColumn[] = Object.values(tables).map((table) => ({
  ...{ table, column: 'sealed', key: 'box_id' },
}))

const place = (of: TokenOf, boxId: string) => ({ table: tables[of], row: boxId, column: 'sealed' })

export async function storedToken({ db, keyring }: TokenDeps, of: TokenOf, boxId: string): Promise<Secret | undefined> {
  const row = await db.selectFrom(tables[of]).select('sealed').where('box_id', '=', boxId).executeTakeFirst()
  return row && unseal(keyring, place(of, boxId), row.sealed)
}

type Stored = Readonly<{ of: TokenOf; boxId: string; token: Secret }>

export async function storeToken({ db, clock, random, keyring }: TokenDeps, { of, boxId, token }: Stored): Promise<void> {
  const row = { sealed: seal({ keyring, random }, place(of, boxId), token.reveal()), updated_at: isoNow(clock) }
  await db
    .insertInto(tables[of])
    .values({ box_id: boxId, ...row })
    .onConflict((c) => c.column('box_id').doUpdateSet(row))
    .execute()
}
