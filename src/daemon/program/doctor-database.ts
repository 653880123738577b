import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { type Clock, duration, isProblem, plural } from '../../core/kit/index.ts'
import { type Check, failed, type Machine, passed, warning } from '../../node/command-line.ts'
import { sealedColumns } from '../app/index.ts'
import type { Config } from '../config/index.ts'
import { type Db, dialectOf, migrationState, type OpenDatabase, openDatabase } from '../db/index.ts'
import { type Keyring, loadKeyring, opensAll } from '../sealed/index.ts'
import { fleetChecks } from './doctor-fleet.ts'

/** What needs the database: it answers, is of this version, its secrets open, somebody may log in, and its clock agrees. */
export async function databaseChecks(machine: Machine, config: Config): Promise<Check[]> {
  const keys = await secretKey(machine, config)
  const file = config.databaseUrl.startsWith('sqlite:') ? config.databaseUrl.slice('sqlite:'.length) : undefined
  if (file && !(await isThere(file))) return [keys.check, passed('database', `${file} will be made at the first start`)]
  let opened: OpenDatabase | undefined
  try {
    opened = openDatabase(config.databaseUrl)
    const schema = await schemaCheck(opened.db)
    if (schema.state === 'failed') return [keys.check, schema]
    const more =
      schema.state === 'ok'
        ? [
            await clockCheck(machine, opened.db),
            await accounts(opened.db),
            ...(await givenUp(opened.db)),
            ...(await fleetChecks({ db: opened.db, clock: machine.clock }, config.redis)),
          ]
        : []
    const opens = schema.state === 'ok' && keys.keyring ? await secretsOpen(opened.db, keys.keyring) : keys.check
    return [opens, schema, ...more]
  } catch (error) {
    const reason = (error as Error).message || (error as { code?: string }).code
    return [keys.check, failed('database', `it does not answer: ${reason}`, 'is the server running, and is TENANTRY_DATABASE right?')]
  } finally {
    await opened?.close()
  }
}

const isThere = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  )

/** Looks for the key without making one. */
async function secretKey({ random }: Machine, config: Config): Promise<{ check: Check; keyring?: Keyring }> {
  const file = join(config.dataDir, 'secret.key')
  if (!config.secretKey && !config.production && !(await isThere(file)))
    return { check: passed('secret key', `${file} will be made at the first start`) }
  try {
    const keyring = await loadKeyring({ random }, config)
    return { keyring, check: passed('secret key', config.secretKey ? 'from TENANTRY_SECRET_KEY' : file) }
  } catch (error) {
    const mend = config.production
      ? 'TENANTRY_SECRET_KEY=$(openssl rand -base64 32), kept where no backup of the database is'
      : `chmod 600 ${file}`
    return { check: failed('secret key', (error as Error).message, mend) }
  }
}

async function secretsOpen(db: Db, keyring: Keyring): Promise<Check> {
  try {
    for (const column of sealedColumns) await opensAll({ db, keyring }, column)
    return passed('secret key', 'opens every secret in the database')
  } catch (error) {
    if (!isProblem(error)) throw error
    return failed('secret key', error.message, 'put the key that this database was written with into TENANTRY_SECRET_KEY')
  }
}

async function schemaCheck(db: Db): Promise<Check> {
  const { pending, unknown } = await migrationState(db)
  const newer = 'start the newer tenantryd, or restore a backup made by this one'
  if (unknown.length > 0) return failed('database', `written by a newer program (${unknown.join(', ')})`, newer)
  if (pending.length > 0)
    return warning('database', `reachable, and ${pending.length} migrations behind`, 'back it up; `tenantryd serve` brings it up to date')
  return passed('database', `${dialectOf(db) === 'sqlite' ? 'SQLite' : 'PostgreSQL'}, up to date`)
}

const [doubtfulSkewMs, mostSkewMs] = [1000, 5000]

/** Against the database's clock, and against what was written last: tokens, leases, sessions and budgets hang on it. */
export async function clockCheck({ clock }: Pick<Machine, 'clock'>, db: Db): Promise<Check> {
  const mend = 'set the clock, and let it be kept: timedatectl set-ntp true'
  const skewMs = dialectOf(db) === 'postgres' ? await aheadMs(clock, db) : 0
  if (Math.abs(skewMs) >= doubtfulSkewMs) return skewed(skewMs)
  const now = clock.now().getTime()
  const last = await db.selectFrom('audit').select('at').orderBy('at', 'desc').limit(1).executeTakeFirst()
  const behindMs = last ? Date.parse(last.at) - now : 0
  if (behindMs > mostSkewMs) return failed('clock', `it is ${duration(behindMs)} behind the newest entry of the audit log`, mend)
  return passed('clock', clock.now().toISOString())
}

/** How far this clock is before that of the database, by the quickest of some answers: half of what one took may be on either way. */
async function aheadMs(clock: Clock, db: Db): Promise<number> {
  let [quickestMs, ahead] = [Number.POSITIVE_INFINITY, 0]
  for (let n = 0; n < 3; n++) {
    const asked = clock.now().getTime()
    const { rows } = await sql<{ ms: string }>`select (extract(epoch from clock_timestamp()) * 1000)::text as ms`.execute(db)
    const tookMs = clock.now().getTime() - asked
    if (tookMs < quickestMs) [quickestMs, ahead] = [tookMs, asked + tookMs / 2 - Number(rows[0]?.ms)]
  }
  return ahead
}

function skewed(skewMs: number): Check {
  const apart = `${(Math.abs(skewMs) / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} that of the database`
  const says = `it is ${apart}: leases, sessions and budgets end too ${skewMs > 0 ? 'early' : 'late'} here`
  const mend = 'set the clocks of this machine and of the database server, and let them be kept: timedatectl set-ntp true on each'
  return Math.abs(skewMs) > mostSkewMs ? failed('clock', says, mend) : warning('clock', says, mend)
}

async function accounts(db: Db): Promise<Check> {
  const admins = await db
    .selectFrom('admin_accounts')
    .select('name')
    .where('role', '=', 'admin')
    .where('status', '=', 'active')
    .where('password_hash', 'is not', null)
    .execute()
  if (admins.length === 0) return warning('accounts', 'nobody with the role admin can log in', '`tenantryd admin create --name <name>`')
  return passed('accounts', `${admins.length === 1 ? '1 admin' : `${admins.length} admins`} can log in`)
}

/** What the daemon was to do or to tell, and could not. */
async function givenUp(db: Db): Promise<Check[]> {
  const counted = db.fn.countAll().as('count')
  const letters = await db.selectFrom('outbox').select(counted).where('status', '=', 'dead').executeTakeFirst()
  const messages = await db.selectFrom('alert_deliveries').select(counted).where('status', '=', 'dead').executeTakeFirst()
  const [work, told] = [Number(letters?.count ?? 0), Number(messages?.count ?? 0)]
  if (work + told === 0) return []
  const says = `${plural(told, 'alert message')} and ${plural(work, 'job')} abandoned`
  return [
    warning('given up', says, '`tenantry alerts list` shows them; `tenantry alerts resend <number>` and `tenantry jobs retry` try again'),
  ]
}
