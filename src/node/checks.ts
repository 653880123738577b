import { type ExitCode, foldBeside, plural } from '../core/kit/index.ts'
import { type Globals, type Machine, print } from './machine.ts'
import { widthOf } from './terminal-width.ts'

/** One thing a doctor looked at: how it is, and, if it is not well, what to type. */
export type Check = Readonly<{ name: string; state: 'ok' | 'warn' | 'failed'; says: string; mend?: string }>

export const well = (name: string, says: string): Check => ({ name, state: 'ok', says })
/** It works, but will not when it is needed. */
export const doubtful = (name: string, says: string, mend: string): Check => ({ name, state: 'warn', says, mend })
export const failing = (name: string, says: string, mend: string): Check => ({ name, state: 'failed', says, mend })

const marks = { ok: '✓', warn: '!', failed: '✗' } as const satisfies Record<Check['state'], string>

/** Prints what was found, a line each. Exit code 1 when something would keep the program from working. */
export function tellChecks(machine: Machine, options: Globals, checks: readonly Check[], nameColumns: number): ExitCode {
  const width = widthOf(machine.stdout, machine.env)
  const lineOf = ({ name, state, says, mend }: Check) => {
    const found = foldBeside(`${marks[state]} ${name.padEnd(nameColumns)} `, says, width)
    return mend ? `${found}\n${foldBeside(`  ${''.padEnd(nameColumns)} mend: `, mend, width)}` : found
  }
  const failures = checks.filter(({ state }) => state === 'failed').length
  const warnings = checks.filter(({ state }) => state === 'warn').length
  const sum = failures + warnings === 0 ? 'all is well' : `${plural(failures, 'fault')}, ${plural(warnings, 'warning')}`
  print(machine, options, { checks }, `${checks.map(lineOf).join('\n')}\n\n${sum}`)
  return failures > 0 ? 1 : 0
}
