import semver from 'semver'
import { problem } from '../../core/kit/index.ts'

/** From here on restic tells by exit code what went wrong (10 to 12) and waits for locks. */
const oldest = '0.17.1'

/** Where programs are looked for: the one thing that children take over from the agent's environment. */
export const searchPath = (): string => process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin'

/** Version of the program; throws RESTIC_UNUSABLE when it is missing or older than 0.17.1. */
export async function resticVersion(program: string): Promise<string> {
  const { execa } = await import('execa')
  const { stdout, failed } = await execa(program, ['version'], {
    reject: false,
    extendEnv: false,
    env: { PATH: searchPath() },
    timeout: 10_000,
    forceKillAfterDelay: 1_000,
  })
  const version = /^restic ([0-9]+\.[0-9]+\.[0-9]+)/.exec(stdout ?? '')?.[1]
  if (failed || !version) throw problem('RESTIC_UNUSABLE', `${program} cannot be run: install restic ${oldest} or newer`)
  if (semver.lt(version, oldest)) throw problem('RESTIC_UNUSABLE', `restic ${version} is too old: install ${oldest} or newer`)
  return version
}
