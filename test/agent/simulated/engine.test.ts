import { engineSuite } from '../suites/engine-suite.ts'
import { aHost, images } from './boxes.ts'

engineSuite('simulated engine', async () => {
  const missing = 'registry.test/tenantry/synapse:v9.9.9'
  const nowhere = 'nowhere.test/tenantry/synapse:v1.0.0'
  const host = await aHost({ execScript: echo })
  host.inject({ kind: 'tag-missing', image: missing })
  host.inject({ kind: 'registry-down', image: 'nowhere.test' })
  host.inject({ kind: 'registry-down', image: 'away.test:5000' })
  host.inject({ kind: 'tag-missing', image: '/somewhere/else/' })
  host.inject({ kind: 'needs-account', image: 'guarded.test:5000', username: 'puller', password: 'a long password' })
  const mirrored = { registry: 'away.test:5000', mirror: 'mirror.test:5000/hub', image: 'away.test:5000/tenantry/synapse:v1.157.1' }
  const account = { username: 'puller', password: 'a long password' }
  const guarded = { registry: 'guarded.test:5000', image: 'guarded.test:5000/tenantry/synapse:v1.157.1', ...account }
  return { mirrored, guarded, engine: host.engine, images: { ...images, newer: 'registry.test/tenantry/postgres:15.15', missing, nowhere } }
})

function echo(_: unknown, [program, ...words]: readonly string[]) {
  return program === 'echo' ? { exitCode: 0, stdout: `${words.join(' ')}\n`, stderr: '' } : undefined
}
