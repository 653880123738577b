import { stringify } from 'yaml'
import { type Globals, type Machine, print } from '../../node/command-line.ts'
import { redactedSettings } from '../config/index.ts'
import { assertStartable } from '../start-conditions.ts'
import { settingsOf } from './installation.ts'

/** Prints the effective settings without secrets. Throws what `serve` would throw for them. */
export async function checkConfig(machine: Machine, options: Globals): Promise<undefined> {
  const config = settingsOf(machine, options)
  await assertStartable(config)
  const shown = redactedSettings(config)
  print(machine, options, { result: shown, words: stringify(shown).trimEnd() })
  return undefined
}
