import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { AgentSettings } from '../src/agent/program/settings.ts'
import { loadConfig, variableNames } from '../src/daemon/config/load.ts'

const text = readFileSync('docs/settings.md', 'utf8')
const row = (variable: string) => text.split('\n').find((line) => line.startsWith('|') && line.includes(`\`${variable}\``)) ?? ''

describe('docs/settings.md has every setting, with its default', () => {
  const defaults = loadConfig({ env: {} }) as unknown as Record<string, unknown>
  const valueAt = (path: readonly string[]) => path.reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], defaults)

  test.each([...variableNames()])('%s', (variable, path) => {
    expect(row(variable)).toContain(`| \`${path.join('.')}\` |`)
    const value = valueAt(path)
    if (['string', 'number'].includes(typeof value)) expect(row(variable)).toContain(`| \`${value}\` |`)
  })

  test.each(Object.entries(AgentSettings.parse({})))('%s of an agent', (key, value) => {
    const variable = `TENANTRY_AGENT_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
    expect(row(variable)).toContain(`| \`${key}\` |`)
    if (['string', 'number'].includes(typeof value) && key !== 'templateDir') expect(row(variable)).toContain(`| \`${value}\` |`)
  })

  test('and none that is not one', () => {
    const known = [
      ...variableNames().keys(),
      ...Object.keys(AgentSettings.shape).map((key) => `TENANTRY_AGENT_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`),
    ]
    const named = [...text.matchAll(/^\| `[\w.]+` \| `(TENANTRY_\w+)`/gm)].map(([, name]) => name)
    expect(named.filter((name) => !known.includes(name as string))).toEqual([])
    expect(named).toHaveLength(known.length)
  })
})
