import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { ChannelState } from '../../core/alerts/index.ts'
import { type Clock, duration, isProblem, plural } from '../../core/kit/index.ts'
import { type Check, failed, type Machine, passed, warning } from '../../node/command-line.ts'
import { channelStates, channelsOf } from '../alerts/index.ts'
import { sealedColumns } from '../app/index.ts'
import type { Config } from '../config/index.ts'
import { type Db, dialectOf, migrationState, type OpenDatabase, openDatabase, refusalOf } from '../db/index.ts'
import { type Keyring, loadKeyring, opensAll } from '../sealed/index.ts'
import { fleetChecks } from './doctor-fleet.ts'
import { gateChecks } from './doctor-prometheus.ts'

/** Checks the database: reachable, schema version, secret key, accounts, clock, abandoned work and the fleet. */
export async function databaseChecks(machine: Machine, config: Config): Promise<Check[]> {
  const keys = await secretKey(machine, config)
  const file = config.databaseUrl.startsWith('sqlite:') ? config.databaseUrl.slice('sqlite:'.length) : undefined
  if (file && !(await isThere(file))) return [keys.check, passed('database', `${file} will be created at the first start`)]
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
            ...(await abandonedWork(opened.db)),
            ...(await alertChannels({ db: opened.db, clock: machine.clock }, config)),
            ...(await fleetChecks({ db: opened.db, clock: machine.clock }, config.redis)),
            ...(await gateChecks(opened.db, config)),
          ]
        : []
    const opens = schema.state === 'ok' && keys.keyring ? await secretsOpen(opened.db, keys.keyring) : keys.check
    return [opens, schema, ...more]
  } catch (error) {
    const reason = (error as Error).message || (error as { code?: string }).code
    return [
      keys.check,
      failed('database', `does not answer: ${reason}`, 'check that the server runs and that TENANTRY_DATABASE is correct'),
    ]
  } finally {
    await opened?.close()
  }
}

const isThere = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  )

/** Reads the secret key without creating it. */
async function secretKey({ random }: Machine, config: Config): Promise<{ check: Check; keyring?: Keyring }> {
  const file = join(config.dataDir, 'secret.key')
  if (!config.secretKey && !config.production && !(await isThere(file)))
    return { check: passed('secret key', `${file} will be created at the first start`) }
  try {
    const keyring = await loadKeyring({ random }, config)
    return { keyring, check: passed('secret key', config.secretKey ? 'from TENANTRY_SECRET_KEY' : file) }
  } catch (error) {
    const fix = config.production
      ? 'set TENANTRY_SECRET_KEY=$(openssl rand -base64 32), and store it apart from database backups'
      : `chmod 600 ${file}`
    return { check: failed('secret key', (error as Error).message, fix) }
  }
}

async function secretsOpen(db: Db, keyring: Keyring): Promise<Check> {
  try {
    for (const column of sealedColumns) await opensAll({ db, keyring }, column)
    return passed('secret key', 'opens every secret in the database')
  } catch (error) {
    if (!isProblem(error)) throw error
    return failed('secret key', error.message, 'add the key that sealed this database to TENANTRY_SECRET_KEY')
  }
}

async function schemaCheck(db: Db): Promise<Check> {
  const { pending, unknown } = await migrationState(db)
  if (unknown.length > 0) {
    const { what, fix } = refusalOf(unknown)
    return failed('database', what, fix)
  }
  if (pending.length > 0)
    return warning(
      'database',
      `reachable, ${plural(pending.length, 'migration')} pending`,
      'back up the database; `tenantryd serve` migrates it',
    )
  return passed('database', `${dialectOf(db) === 'sqlite' ? 'SQLite' : 'PostgreSQL'}, up to date`)
}

const [doubtfulSkewMs, maxSkewMs] = [1000, 5000]

/** Compares the clock with the database's and with the newest audit entry. Tokens, leases, sessions and budgets depend on it. */
export async function clockCheck({ clock }: Pick<Machine, 'clock'>, db: Db): Promise<Check> {
  const fix = 'set the clock and enable NTP: timedatectl set-ntp true'
  const skewMs = dialectOf(db) === 'postgres' ? await aheadMs(clock, db) : 0
  if (Math.abs(skewMs) >= doubtfulSkewMs) return skewed(skewMs)
  const now = clock.now().getTime()
  const last = await db.selectFrom('audit').select('at').orderBy('at', 'desc').limit(1).executeTakeFirst()
  const behindMs = last ? Date.parse(last.at) - now : 0
  if (behindMs > maxSkewMs) return failed('clock', `${duration(behindMs)} behind the newest entry of the audit log`, fix)
  return passed('clock', clock.now().toISOString())
}

/** Milliseconds that this clock is ahead of the database's, from the fastest of three round trips. */
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
  const apart = `${(Math.abs(skewMs) / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the database clock`
  const says = `${apart}: leases, sessions and budgets expire too ${skewMs > 0 ? 'early' : 'late'} here`
  const fix = 'set the clocks of this machine and the database server and enable NTP on both: timedatectl set-ntp true'
  return Math.abs(skewMs) > maxSkewMs ? failed('clock', says, fix) : warning('clock', says, fix)
}

async function accounts(db: Db): Promise<Check> {
  const admins = await db
    .selectFrom('admin_accounts')
    .select('name')
    .where('role', '=', 'admin')
    .where('status', '=', 'active')
    .where('password_hash', 'is not', null)
    .execute()
  if (admins.length === 0) return warning('accounts', 'no account with the role admin can log in', '`tenantryd admin create --name <name>`')
  return passed('accounts', `${admins.length === 1 ? '1 admin' : `${admins.length} admins`} can log in`)
}

/** The outcome of the latest message of each channel. */
async function alertChannels(deps: Readonly<{ db: Db; clock: Clock }>, { alerts, timeZone }: Config): Promise<Check[]> {
  const { channels } = await channelStates({ ...deps, channels: channelsOf(alerts, timeZone) })
  const failing = channels.filter(({ last }) => last !== null && last.error !== null)
  const texts = channels.map(({ name, target, last }) => `${name === target ? name : `${name} to ${target}`}: ${outcomeText(last)}`)
  if (channels.length === 0) return []
  if (failing.length === 0) return [passed('alert channels', texts.join('; '))]
  return [warning('alert channels', texts.join('; '), `\`tenantry alerts test ${failing[0]?.name}\` shows whether it works again`)]
}

const outcomeText = (last: ChannelState['last']): string =>
  last === null ? 'no message yet' : `${last.error === null ? last.status : `failed (${last.error})`} at ${last.at}`

/** Alert messages and jobs that failed every attempt. */
async function abandonedWork(db: Db): Promise<Check[]> {
  const counted = db.fn.countAll().as('count')
  const jobs = await db.selectFrom('jobs').select(counted).where('status', '=', 'dead').executeTakeFirst()
  const messages = await db.selectFrom('alert_deliveries').select(counted).where('status', '=', 'dead').executeTakeFirst()
  const [jobCount, messageCount] = [Number(jobs?.count ?? 0), Number(messages?.count ?? 0)]
  if (jobCount + messageCount === 0) return []
  const says = `${plural(messageCount, 'alert message')} and ${plural(jobCount, 'job')} abandoned`
  return [
    warning('abandoned', says, '`tenantry alerts list` shows them; `tenantry alerts resend <number>` and `tenantry jobs retry` retry them'),
  ]
}
