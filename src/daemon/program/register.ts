import type { Command } from 'commander'
import type { ExitCode } from '../../core/kit/index.ts'
import type { Machine } from '../../node/command-line.ts'

/** Adds commands to the program. `act` wraps an action; its exit code becomes the program's. */
export type Register = (program: Command, machine: Machine, act: Act) => void

export type Act = (
  work: (options: never, input: readonly string[]) => Promise<ExitCode | undefined>,
) => (...input: unknown[]) => Promise<void>
