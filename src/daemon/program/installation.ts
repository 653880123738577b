import { mkdir } from 'node:fs/promises'
import type { Clock, Random, SystemActor } from '../../core/kit/index.ts'
import type { Globals, Machine } from '../../node/command-line.ts'
import { type Config, loadConfig } from '../config/index.ts'
import { type Db, migrate, openDatabase } from '../db/index.ts'

/** Settings and database of this machine for a one-shot command. */
export type Installation = Readonly<{ config: Config; db: Db; clock: Clock; random: Random; actor: SystemActor }>

export const settingsOf = ({ env }: Machine, { config }: Globals): Config =>
  loadConfig({ env, ...(config === undefined ? {} : { file: config }) })

/** Opens and migrates the database, runs `work`, and closes it. A daemon may be running. */
export async function withInstallation<Result>(
  machine: Machine,
  globals: Globals,
  work: (installation: Installation) => Promise<Result>,
): Promise<Result> {
  const config = settingsOf(machine, globals)
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
  const { db, close } = openDatabase(config.databaseUrl)
  try {
    await migrate(db)
    return await work({ config, db, clock: machine.clock, random: machine.random, actor: { kind: 'system', name: 'tenantryd' } })
  } finally {
    await close()
  }
}
