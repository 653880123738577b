import { expect, test } from 'vitest'
import { withoutDependsOn } from '../../../src/agent/docker/compose.ts'

test('dependencies are taken out of every service, and nothing else', () => {
  const text = `# a box
services:
  synapse:
    image: "synapse:v1"
    mode: 0644
    depends_on:
      postgres: { condition: service_healthy }
  postgres: { image: 'postgres:15', depends_on: [edge] }
  edge: { image: nginx:1 }
`
  expect(withoutDependsOn(text)).toBe(`# a box
services:
  synapse:
    image: "synapse:v1"
    mode: 0644
    depends_on:
      []
  postgres: { image: 'postgres:15', depends_on: [] }
  edge: { image: nginx:1 }
`)
})

test.each(['services:\n  edge: { image: nginx:1 }\n', 'services: [', '', 'services: 7'])(
  'where there is none, %j needs no second look',
  (text) => {
    expect(withoutDependsOn(text)).toBeUndefined()
  },
)
