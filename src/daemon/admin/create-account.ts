import type { z } from 'zod'
import { type Account, AccountName, type NewPassword } from '../../core/admin/index.ts'
import { type AdminRole, parsePart } from '../../core/contract/index.ts'
import { type AdminActor, type Clock, isoIn, isoNow, newId, problem, type Random, type SystemActor } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type Db, isUniqueViolation } from '../db/index.ts'
import { shownAccount } from './accounts.repo.ts'
import { hashPassword, makeInitialPassword } from './passwords.ts'

type Deps = Readonly<{ db: Db; clock: Clock; random: Random }>

export const initialPasswordMs = 72 * 60 * 60_000

type Maker = AdminActor | SystemActor
type NewAccount = Readonly<{ name: string; role: AdminRole }>
type Created = Readonly<{ account: Account; initialPassword: string; expiresAt: string }>

/** An account with a one-time password, which its owner must change at the first login, within three days. */
export async function createAccount(deps: Deps, actor: Maker, input: NewAccount): Promise<Created> {
  const initialPassword = makeInitialPassword(deps.random)
  const expiresAt = isoIn(deps.clock, initialPasswordMs)
  const account = await insertAccount(deps, actor, { ...input, password: initialPassword, expiresAt })
  return { account, initialPassword, expiresAt }
}

/** An account whose owner chose the password: typed on the daemon's own machine. */
export const createAccountWithPassword = (
  deps: Deps,
  actor: Maker,
  input: NewAccount & Readonly<{ password: z.output<typeof NewPassword> }>,
): Promise<Account> => insertAccount(deps, actor, { ...input, expiresAt: null })

type Insert = NewAccount & Readonly<{ password: string; expiresAt: string | null }>

async function insertAccount({ db, clock, random }: Deps, actor: Maker, { name, role, password, expiresAt }: Insert): Promise<Account> {
  const plainName = parsePart(AccountName, name, 'name')
  const row = { id: newId(random, 'acc'), name: plainName, role, password_hash: await hashPassword(password), created_by: actor.name }
  const rest = { totp_secret: null, totp_confirmed_at: null, totp_step: null, last_login_at: null }
  try {
    await db.transaction().execute(async (tx) => {
      await tx
        .insertInto('admin_accounts')
        .values({ ...row, ...rest, status: 'active', initial_password_expires_at: expiresAt, created_at: isoNow(clock) })
        .execute()
      await recordAudit(tx, clock, { actor, action: 'account.created', subject: plainName, data: { role } })
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw problem('ALREADY_EXISTS', `there is an account ${plainName} already: choose another name`)
  }
  return shownAccount(db, row.id, isoNow(clock))
}
