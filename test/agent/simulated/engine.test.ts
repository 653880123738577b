import { engineSuite } from '../suites/engine-suite.ts'
import { aHost, images } from './boxes.ts'

engineSuite('simulated engine', async () => {
  const missing = 'registry.test/tenantry/synapse:v9.9.9'
  const nowhere = 'nowhere.test/tenantry/synapse:v1.0.0'
  const host = await aHost()
  host.inject({ kind: 'tag-missing', image: missing })
  host.inject({ kind: 'registry-down', image: 'nowhere.test' })
  return { engine: host.engine, images: { ...images, newer: 'registry.test/tenantry/postgres:15.15', missing, nowhere } }
})
