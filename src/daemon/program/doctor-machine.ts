import { access, constants, stat, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { isProblem } from '../../core/kit/index.ts'
import { type Check, failed, type Globals, type Machine, passed, warning } from '../../node/command-line.ts'

import { resticVersion } from '../../node/restic/index.ts'
import type { Config } from '../config/index.ts'
import { assertSnapshotsConfigured, reachesStore } from '../snapshots/index.ts'
import { forwarding } from './doctor-forwarding.ts'
import { objects } from './doctor-objects.ts'
import { storeSessions } from './doctor-sessions.ts'

/** What can be looked at without the database: files, keys, space, what rollouts need. */
export async function machineChecks(machine: Machine, config: Config, options: Globals): Promise<Check[]> {
  return [
    ...(await settingsFile(options)),
    await dataDirectory(config),
    await diskSpace(config),
    snapshots(config),
    recovery(config),
    ...(await upkeep(config)),
    ...(await storeSessions(machine, config)),
    approval(config),
    alerts(config),
    await objects(config),
    await forwarding(machine, config),
  ]
}

const modeOf = async (path: string): Promise<number | undefined> => (await stat(path).catch(() => undefined))?.mode

async function settingsFile({ config: file }: Globals): Promise<Check[]> {
  if (!file || (((await modeOf(file)) ?? 0) & 0o077) === 0) return []
  return [warning('settings file', `${file} can be read by others, and it may hold secrets`, `chmod 600 ${file}`)]
}

async function dataDirectory({ dataDir }: Config): Promise<Check> {
  const [name, mode] = ['data directory', await modeOf(dataDir)]
  if (mode === undefined) return passed(name, `${resolve(dataDir)} will be made at the first start`)
  if ((mode & 0o170000) !== 0o040000) return failed(name, `${dataDir} is no directory`, 'set TENANTRY_DATA_DIR to a directory')
  const writable = await access(dataDir, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (!writable) return failed(name, `${dataDir} cannot be written by this user`, `run as its owner, or chown it`)
  if ((mode & 0o077) !== 0) return warning(name, `${dataDir} can be read by others`, `chmod 700 ${dataDir}`)
  return passed(name, resolve(dataDir))
}

const gigabyte = 1024 ** 3

async function diskSpace({ dataDir }: Config): Promise<Check> {
  const name = 'disk space'
  const found = await firstThere(resolve(dataDir))
  const { bavail, blocks, bsize } = await statfs(found)
  const [free, share] = [(bavail * bsize) / gigabyte, bavail / blocks]
  const says = `${free.toFixed(1)} GB free where the data directory is (${Math.round(share * 100)} %)`
  const mend = 'free some space, or move TENANTRY_DATA_DIR to a larger disk'
  if (free < 0.2) return failed(name, says, mend)
  return free < 2 ? warning(name, says, mend) : passed(name, says)
}

const firstThere = async (path: string): Promise<string> => ((await modeOf(path)) === undefined ? firstThere(dirname(path)) : path)

function snapshots(config: Config): Check {
  try {
    assertSnapshotsConfigured(config)
    return passed('snapshots', `backup key set, snapshots go to ${config.snapshotStore}`)
  } catch (error) {
    if (!isProblem(error)) throw error
    return warning('snapshots', 'rollouts cannot be started', error.message)
  }
}

const recovery = ({ recoveryKey, backupKey }: Config): Check => {
  const name = 'recovery key'
  const make = '`tenantryd recovery-key` makes one and says where it belongs'
  if (!recoveryKey) return warning(name, 'if the backup key is lost, so is every snapshot', make)
  if (recoveryKey === backupKey) return warning(name, 'it is the backup key: whoever loses one loses both', make)
  return passed(name, 'set: it opens every repository beside the backup key')
}

/** Only where the daemon reaches the store: on hosts the agents do this. */
async function upkeep(config: Config): Promise<Check[]> {
  if (!reachesStore(config)) return []
  const name = 'snapshot upkeep'
  const version = await resticVersion('restic').catch((error: Error) => error)
  if (version instanceof Error) return [warning(name, 'old snapshots are never removed', version.message)]
  const { snapshotUpkeep, snapshotStoreCredentials, snapshotSessions } = config
  const own = snapshotUpkeep && snapshotUpkeep.accessKeyId !== snapshotStoreCredentials?.accessKeyId
  // A session may delete nothing, whatever the key may from which it comes.
  if (own || snapshotSessions) return [passed(name, `restic ${version}, with a credential that agents lack`)]
  const mend = 'set TENANTRY_SNAPSHOT_UPKEEP_ACCESS_KEY_ID and …_SECRET_ACCESS_KEY, and take the right to delete from the agents’ key'
  return [warning(name, 'agents have the credential that removes snapshots', mend)]
}

/** Nobody looks at three at night: something must reach somebody. */
const alerts = ({ alerts: { mailTo, webhook }, mail }: Config): Check => {
  const name = 'alerts'
  const mend = 'set TENANTRY_ALERTS_MAIL_TO and TENANTRY_MAIL_SMTP, or TENANTRY_ALERTS_WEBHOOK_URL and …_SECRET'
  if (mailTo.length === 0 && !webhook) return warning(name, 'nobody is told when a rollout pauses or a box is down', mend)
  if (!webhook && mail.smtp === undefined) return warning(name, 'mail goes into a folder, where nobody is woken by it', mend)
  const ways = [
    ...(mailTo.length > 0 ? [`mail to ${mailTo.join(', ')}`] : []),
    ...(webhook ? [`a webhook at ${new URL(webhook.url).origin}`] : []),
  ]
  return passed(name, `${ways.join(' and ')}; \`tenantry alerts test\` tries them`)
}

const approval = ({ approvalTokenSha256 }: Config): Check =>
  approvalTokenSha256
    ? passed('approval token', 'its hash is set: emergency rollouts can be created')
    : warning('approval token', 'emergency rollouts cannot be created', '`tenantryd approval-token` makes a token and says what to set')
