import { access, constants, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isProblem } from '../../core/kit/index.ts'
import { emergencyLackFix, emergencyLackText } from '../../core/rollouts/index.ts'
import { type Check, failed, type Globals, type Machine, passed, warning } from '../../node/command-line.ts'

import { resticVersion } from '../../node/restic/index.ts'
import type { Config } from '../config/index.ts'
import { lacksOf } from '../rollouts/index.ts'
import { assertSnapshotsConfigured, hasRecoveryKey, reachesStore } from '../snapshots/index.ts'
import { forwarding } from './doctor-forwarding.ts'
import { objects } from './doctor-objects.ts'
import { storeSessions } from './doctor-sessions.ts'
import { snapshotStore } from './doctor-snapshot-store.ts'

/** Checks without the database: files, keys, disk space, and the requirements of rollouts. */
export async function machineChecks(machine: Machine, config: Config, options: Globals): Promise<Check[]> {
  return [
    ...(await settingsFile(options)),
    await dataDirectory(config),
    await diskSpace(config),
    snapshots(config),
    recovery(config),
    ...(await upkeep(config)),
    ...archives(config),
    ...(await snapshotStore(machine, config)),
    ...(await storeSessions(machine, config)),
    emergencies(config),
    alerts(config),
    mails(config),
    ...payments(config),
    await objects(config),
    await forwarding(machine, config),
  ]
}

const modeOf = async (path: string): Promise<number | undefined> => (await stat(path).catch(() => undefined))?.mode

async function settingsFile({ config: file }: Globals): Promise<Check[]> {
  if (!file || (((await modeOf(file)) ?? 0) & 0o077) === 0) return []
  return [warning('settings file', `${file} is readable by other users and may contain secrets`, `chmod 600 ${file}`)]
}

async function dataDirectory({ dataDir }: Config): Promise<Check> {
  const [name, mode] = ['data directory', await modeOf(dataDir)]
  if (mode === undefined) return passed(name, `${resolve(dataDir)} will be created at the first start`)
  if ((mode & 0o170000) !== 0o040000) return failed(name, `${dataDir} is not a directory`, 'set TENANTRY_DATA_DIR to a directory')
  const writable = await access(dataDir, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (!writable) return failed(name, `${dataDir} is not writable by this user`, `run as its owner, or chown it`)
  if ((mode & 0o077) !== 0) return warning(name, `${dataDir} is readable by other users`, `chmod 700 ${dataDir}`)
  return passed(name, resolve(dataDir))
}

const gigabyte = 1024 ** 3

async function diskSpace({ dataDir }: Config): Promise<Check> {
  const name = 'disk space'
  const found = await firstExisting(resolve(dataDir))
  const { bavail, blocks, bsize } = await statfs(found)
  const [free, share] = [(bavail * bsize) / gigabyte, bavail / blocks]
  const says = `${free.toFixed(1)} GB free for the data directory (${Math.round(share * 100)} %)`
  const fix = 'free disk space, or move TENANTRY_DATA_DIR to a larger disk'
  if (free < 0.2) return failed(name, says, fix)
  return free < 2 ? warning(name, says, fix) : passed(name, says)
}

const firstExisting = async (path: string): Promise<string> => ((await modeOf(path)) === undefined ? firstExisting(dirname(path)) : path)

function snapshots(config: Config): Check {
  try {
    assertSnapshotsConfigured(config)
    return passed('snapshots', `backup key set, stored in ${config.snapshotStore}`)
  } catch (error) {
    if (!isProblem(error)) throw error
    const [says, fix = 'correct this setting'] = error.message.split(' fix: ')
    return warning('snapshots', `rollouts cannot be started: ${says}`, fix)
  }
}

/** A store on the host of the box is lost with it. */
function archives(config: Config): Check[] {
  const tiers = Object.entries(config.snapshots.archive).flatMap(([tier, isOn]) => (isOn ? [tier] : []))
  if (tiers.length === 0) return []
  const name = 'archives'
  if (reachesStore(config)) return [passed(name, `on for ${tiers.join(', ')}`)]
  return [
    warning(
      name,
      `on for ${tiers.join(', ')}, but the store is on the host of each box and is lost with it`,
      'set TENANTRY_SNAPSHOT_STORE to a bucket',
    ),
  ]
}

const recovery = ({ recoveryKey, backupKey }: Config): Check => {
  const name = 'recovery key'
  const make = '`tenantryd recovery-key` creates one'
  if (!recoveryKey) return warning(name, 'not set; without it, losing the backup key loses every snapshot', make)
  if (recoveryKey === backupKey) return warning(name, 'identical to the backup key; losing one loses both', make)
  return passed(name, 'set')
}

/** Only for a store that the daemon reaches; agents maintain stores on hosts. */
async function upkeep(config: Config): Promise<Check[]> {
  if (!reachesStore(config)) return []
  const name = 'snapshot upkeep'
  const version = await resticVersion('restic').catch((error: Error) => error)
  if (version instanceof Error) return [warning(name, 'expired snapshots are not removed', version.message)]
  const { snapshotUpkeep, snapshotStoreCredentials, snapshotSessions } = config
  const own = snapshotUpkeep && snapshotUpkeep.accessKeyId !== snapshotStoreCredentials?.accessKeyId
  // Sessions never have the permission to delete.
  if (own || snapshotSessions) return [passed(name, `restic ${version}, with a credential that agents do not have`)]
  const fix = 'set TENANTRY_SNAPSHOT_UPKEEP_ACCESS_KEY_ID and …_SECRET_ACCESS_KEY, and revoke the delete permission of the agents’ key'
  return [warning(name, 'agents can delete snapshots', fix)]
}

/** Alerts must reach a person: a mail in a folder does not. */
const alerts = ({ alerts: { mailTo, webhook, channels: services }, mail }: Config): Check => {
  const name = 'alerts'
  const fix = 'set TENANTRY_ALERTS_MAIL_TO and TENANTRY_MAIL_SMTP, or TENANTRY_ALERTS_WEBHOOK_URL and …_SECRET, or alerts.channels'
  const isRemote = webhook !== undefined || services.length > 0
  if (mailTo.length === 0 && !isRemote) return warning(name, 'no alert recipients configured', fix)
  if (!isRemote && mail.smtp === undefined) return warning(name, 'alert mail is written into a folder and not sent', fix)
  const channels = [
    ...(mailTo.length > 0 ? [`mail to ${mailTo.join(', ')}`] : []),
    ...(webhook ? [`a webhook at ${new URL(webhook.url).origin}`] : []),
    ...services.map(({ name, form }) => `${name} (${form})`),
  ]
  return passed(name, `${channels.join(' and ')}; test with \`tenantry alerts test\``)
}

/** Vendors, developers and tenants get mails too. */
const mails = ({ dataDir, mail: { smtp, folder } }: Config): Check =>
  smtp === undefined
    ? warning(
        'mail',
        `no mail server: mails to vendors and others are files in ${folder ?? join(dataDir, 'mail')}`,
        'set TENANTRY_MAIL_SMTP',
      )
    : passed('mail', `sent by ${new URL(smtp).host}`)

function emergencies(config: Config): Check {
  const lacks = lacksOf({
    approvalTokenSha256: config.approvalTokenSha256,
    assertSnapshotsConfigured: () => assertSnapshotsConfigured(config),
    hasRecoveryKey: hasRecoveryKey(config),
  })
  const says = emergencyLackText(lacks)
  return says === undefined
    ? passed('emergencies', 'approval token, backup and recovery key set')
    : warning('emergencies', says, emergencyLackFix(lacks))
}

/** Without the secret of an endpoint its events are refused, and what they report is not noticed. */
const reports = {
  platform: 'failed payments and subscriptions that end',
  connect: 'changes of vendor accounts',
  thin: 'rejected usage',
} as const

/** Payments, where a provider is configured. Nothing is asked of it. */
function payments({ stripe: { secretKey, webhookSecrets }, payments: { currency } }: Config): Check[] {
  if (!secretKey) return []
  const endpoints = Object.keys(reports) as (keyof typeof reports)[]
  const missing = endpoints.filter((one) => !webhookSecrets.some(({ endpoint }) => endpoint === one))
  if (missing.length > 0)
    return [
      warning(
        'payments',
        `no webhook secret of ${missing.join(' and ')}: ${missing.map((one) => reports[one]).join(' and ')} are not noticed`,
        'set TENANTRY_STRIPE_WEBHOOK_SECRETS (platform=whsec_…,connect=whsec_…,thin=whsec_…)',
      ),
    ]
  const mode = secretKey.reveal().includes('_test_') ? 'test' : 'live'
  return [passed('payments', `Stripe in ${mode} mode, ${currency.toUpperCase()}, with all webhook secrets`)]
}
