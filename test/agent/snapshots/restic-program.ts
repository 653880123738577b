import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** A restic that can be tested with: TENANTRY_RESTIC, the PATH, or the test bed's. Undefined when the machine has none. */
export function resticProgram(): string | undefined {
  return [process.env.TENANTRY_RESTIC, 'restic', ofTestbed()].find((program) => program !== undefined && isNewEnough(program))
}

function ofTestbed(): string | undefined {
  try {
    return (JSON.parse(readFileSync('/var/cache/tenantry-testbed/testbed.json', 'utf8')) as { restic?: string }).restic
  } catch {
    return undefined
  }
}

function isNewEnough(program: string): boolean {
  try {
    return /^restic 0\.(1[7-9]|[2-9][0-9])\./.test(
      execFileSync(program, ['version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    )
  } catch {
    return false
  }
}
