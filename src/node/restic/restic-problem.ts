import { type Problem, type ProblemCode, printable, problem } from '../../core/kit/index.ts'
import type { Repository } from './repository.ts'

type Failure = Readonly<{ exitCode: number; stderr: string; timedOut: boolean; missing: boolean }>

const fullDisk = /no space left on device|disk quota exceeded|ENOSPC/i
const cutOff =
  /connection refused|connection reset|no such host|i\/o timeout|network is unreachable|no route to host|context deadline exceeded|Client\.Timeout|TLS handshake|dial tcp|x509:|certificate/i
const denied =
  /AccessDenied|Access Denied|InvalidAccessKeyId|Access Key Id you provided does not exist|SignatureDoesNotMatch|request signature we calculated does not match|403 Forbidden/i
const refused =
  /ExpiredToken|InvalidToken|SlowDown|reduce your request rate|ServiceUnavailable|InternalError|RequestTimeout|429 Too Many|50[0-9] (?:Service|Internal|Bad|Gateway)/i

/** restic prints the message of the store, not its code. */
const skewed = /RequestTimeTooSkewed|difference between the request time and the (current|server'?s) time is too large/i
const readOnly = /read-only file system|EROFS/i
/** restic's last line, a count without a reason. */
const countOfErrors = /^Fatal: There were \d+ errors$/
const retrying = /^.* returned error, retrying after [^:]*: /
const noBucket = /specified bucket does not exist|NoSuchBucket/i

/** A store that is gone is not an empty store: nothing is created in its place. */
export const lostRepository = ({ repository }: Repository, why: string): Problem =>
  problem(
    'SNAPSHOT_STORE_LOST',
    `The snapshots in ${repository} are gone: ${why}; nothing was created in its place. fix: bring the store back (mount its disk, restore its folder or bucket, correct TENANTRY_SNAPSHOT_STORE), then \`tenantry crons run snapshot-check\``,
  )

/** Maps restic's exit code and last error line to a problem. The line contains paths and addresses, never the password. */
export function resticProblem(failure: Failure, of: Repository): Problem {
  const { repository } = of
  if (failure.missing) return problem('RESTIC_UNUSABLE', 'restic is not installed on this host. fix: install version 0.17.1 or newer')
  const said = exitReason(failure.stderr)
  const make = (code: ProblemCode, message: string) => problem(code, said ? `${message}: ${said}` : message)
  if (failure.exitCode === 12)
    return problem(
      'BACKUP_KEY_INVALID',
      `The backup key does not open repository ${repository}, or no key of it is left. fix: start tenantryd with the TENANTRY_BACKUP_KEY that created it; if keys/ in the repository is empty, restore that folder`,
    )
  if (failure.exitCode === 10) return lostRepository(of, 'no repository is there')
  if (failure.exitCode === 11) return make('SNAPSHOT_FAILED', `Repository ${repository} is locked by another restic`)
  // restic retries this error, although it is permanent.
  if (noBucket.test(failure.stderr))
    return of.mayCreate
      ? problem(
          'SNAPSHOT_STORE_UNAVAILABLE',
          `The bucket of ${repository} does not exist. fix: create it, or correct TENANTRY_SNAPSHOT_STORE`,
        )
      : lostRepository(of, 'its bucket does not exist')
  if (fullDisk.test(failure.stderr))
    return make('DISK_FULL', `No disk space left for the snapshot in ${repository}; free space there, then retry`)
  if (skewed.test(failure.stderr))
    return problem(
      'SNAPSHOT_STORE_UNAVAILABLE',
      `The clocks of this host and of the snapshot store of ${repository} differ by more than 15 minutes. fix: on the host, \`timedatectl set-ntp true\``,
    )
  if (denied.test(failure.stderr))
    return make(
      'SNAPSHOT_STORE_UNAVAILABLE',
      `The snapshot store refuses its credentials for ${repository}. fix: correct TENANTRY_SNAPSHOT_STORE_CREDENTIALS_… or their permissions`,
    )
  if (failure.timedOut || cutOff.test(failure.stderr) || refused.test(failure.stderr))
    return make('SNAPSHOT_STORE_UNAVAILABLE', `The snapshot store of ${repository} does not answer`)
  if (readOnly.test(failure.stderr))
    return make('SNAPSHOT_FAILED', 'A folder is read-only; under systemd, add it to ReadWritePaths= of the unit')
  if (failure.exitCode === 3) return make('SNAPSHOT_FAILED', 'restic could not read all files, so the snapshot is incomplete')
  return make('SNAPSHOT_FAILED', `restic failed with exit code ${failure.exitCode}`)
}

/** A frame of the stack that restic prints below an error that it did not expect: the function, and this line. */
const frame = /^\t\S+:\d+$/

function withoutStack(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => frame.test(line))
  return first < 1 ? lines : lines.slice(0, first - 1)
}

// The last error line; with --json it is wrapped.
function exitReason(stderr: string): string {
  const lines = withoutStack(stderr.split('\n'))
    .map(unwrapped)
    .filter((line) => line !== '' && !countOfErrors.test(line))
  // restic ends its tries when it is ended; the reason is in the last of them.
  const tried = lines.findLast((line) => retrying.test(line))?.replace(retrying, '')
  if (tried && lines.some((line) => line.includes('context canceled'))) return printable(tried).slice(0, 300)
  const line = lines.findLast((line) => line.startsWith('Fatal:') || line.includes('error')) ?? lines.at(-1) ?? ''
  return printable(line).slice(0, 300)
}

function unwrapped(line: string): string {
  if (!line.startsWith('{')) return line.trim()
  try {
    const { message, error } = JSON.parse(line) as { message?: string; error?: { message?: string } }
    return (message ?? error?.message ?? '').split('\n')[0] ?? ''
  } catch {
    return line
  }
}
