import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { AgentSettings } from '../src/agent/program/settings.ts'

// What was learnt when the units ran on a machine with systemd (test/e2e/units.e2e.ts), held where no machine is needed.

const read = (name: string) => readFile(`deploy/${name}`, 'utf8')
const valuesOf = (unit: string, key: string) => [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value as string)
const agent = await read('tenantry-agent.service')
const daemon = await read('tenantryd.service')
const readme = await read('README.md')

test('the agent may write back a folder that has the bit of its group: a snapshot with one could not be restored, or lost it', () => {
  expect(valuesOf(agent, 'RestrictSUIDSGID')).toEqual([])
  expect(valuesOf(agent, 'CapabilityBoundingSet').join(' ').split(' ')).toContain('CAP_FSETID')
  // The daemon writes no such folders.
  expect(valuesOf(daemon, 'RestrictSUIDSGID')).toEqual(['yes'])
})

test('the programs that the README installs are where both units see them, and where these start them', () => {
  const [, folder, programs] = /^for name in .* ln -sf (\S+)\/bin\/\S+ (\S+)\/\$name; done$/m.exec(readme) ?? []
  expect(folder).not.toMatch(/^\/(home|root|tmp|var\/tmp|run\/user)\b/)
  for (const unit of [agent, daemon]) expect(valuesOf(unit, 'ExecStart')[0]).toMatch(new RegExp(`^${programs}/`))
})

test('the folders that the agent cannot make itself are made by its unit, or by the README before the unit starts', () => {
  const made = valuesOf(agent, 'StateDirectory').flatMap((names) => names.split(' ').map((name) => `/var/lib/${name}`))
  expect(made).toEqual(['/var/lib/tenantry-agent', '/var/lib/tenantry-snapshots'])
  const writable = valuesOf(agent, 'ReadWritePaths').flatMap((paths) => paths.split(' '))
  // What has a hyphen before it is the engine's, and there before the agent.
  for (const path of writable.filter((path) => !path.startsWith('-'))) expect(readme).toContain(`install -d -m 0700 ${path}\n`)
})

test('the settings that the README writes for the agent are those of its unit: what is typed by hand reads the file alone', async () => {
  const [, lines = ''] = /^printf '%s\\n' ((?:.|\\\n)*?)\s+> \/etc\/tenantry\/tenantry-agent\.yaml$/m.exec(readme) ?? []
  const file = AgentSettings.parse(parse([...lines.matchAll(/'([^']*)'/g)].map(([, line]) => line).join('\n')))
  expect(valuesOf(agent, 'Environment')).toEqual(
    expect.arrayContaining([`TENANTRY_AGENT_STATE_DIR=${file.stateDir}`, `TENANTRY_AGENT_BOXES_DIR=${file.boxesDir}`]),
  )
  const [, usual = ''] = /^const usualSettings = '(.*)'$/m.exec(await readFile('src/agent/program/main.ts', 'utf8')) ?? []
  expect(valuesOf(agent, 'ExecStart')).toEqual([`/usr/bin/tenantry-agent --config ${usual} run`])
})

test('an agent has time to drain before systemd kills it', () => {
  const { drainMs } = AgentSettings.parse({})
  // Beside it: what is broken off ends, and outcomes are told, within 10 s; the last answer takes up to 5.
  expect(Number(valuesOf(agent, 'TimeoutStopSec')[0]) * 1000).toBeGreaterThan(drainMs + 15_000)
})
