import { onTestFinished } from 'vitest'
import { compose } from '../../src/daemon/app/index.ts'
import { loadConfig } from '../../src/daemon/config/index.ts'
import { migrate, openDatabase } from '../../src/daemon/db/index.ts'
import { keyring } from '../../src/daemon/sealed/index.ts'
import { silentLogger, systemClock, systemRandom } from '../../src/node/index.ts'
import { synapseSchemas } from './synapse-schemas.ts'

/** All features joined as in a daemon, without a server and without running loops. */
export async function composedDaemon() {
  const { db, close } = openDatabase('sqlite::memory:')
  onTestFinished(close)
  await migrate(db)
  const stop = new AbortController()
  const composed = await compose({
    clock: systemClock,
    random: systemRandom,
    log: silentLogger(),
    config: loadConfig({ env: {} }),
    db,
    keyring: keyring([Buffer.alloc(32, 1).toString('base64')]),
    migrations: [],
    schemas: synapseSchemas,
    roles: { defaultRole: 'member', roles: { member: { capabilities: [] } } },
    draining: stop.signal,
  })
  stop.abort()
  return composed
}
