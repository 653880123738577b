import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandChecker } from '../support/named-commands.ts'
import {
  dashboards,
  namesIn,
  namesOfScrape,
  type Panel,
  promtool,
  queriesOf,
  rules,
  rulesFile,
  scrapeExample,
} from '../support/prometheus.ts'
import { aFolder } from '../support/running-daemon.ts'
import { aSimulatedFleet } from '../support/simulated-fleet.ts'

const ruleTests = 'test/deploy/tenantry.rules.test.yml'

describe('the alert rules', () => {
  test('pass `promtool check rules` and their tests, which have every alert', async () => {
    expect(await promtool(['check', 'rules', rulesFile])).toMatchObject({ good: true })
    const folder = await aFolder('rules')
    await copyFile(rulesFile, join(folder, 'tenantry.rules.yml'))
    await copyFile(ruleTests, join(folder, 'test.yml'))
    expect(await promtool(['test', 'rules', 'test.yml'], { cwd: folder })).toMatchObject({ good: true })
    const tests = await readFile(ruleTests, 'utf8')
    expect(rules().length).toBeGreaterThan(20)
    expect(rules().filter(({ alert }) => !tests.includes(alert))).toEqual([])
  })

  test('have a severity of Tenantry, and say what happened and what to do', () => {
    const names = rules().map(({ alert }) => alert)
    expect(new Set(names).size).toBe(names.length)
    for (const { alert, labels, annotations } of rules()) {
      expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(critical|warning|info)$/)])
      expect(Object.keys(annotations)).toEqual(['summary', 'description'])
    }
  })

  test('name commands that exist', async () => {
    const wrongWith = await commandChecker()
    const named = rules().flatMap(({ annotations }) => [...(annotations.description ?? '').matchAll(/`(tenantryd? [^`]+)`/g)])
    const commands = named.map(([, command = '']) => command.replaceAll(/\{\{.*?\}\}/g, 'linden'))
    expect(commands.length).toBeGreaterThan(10)
    expect((await Promise.all(commands.map(wrongWith))).flat()).toEqual([])
  })
})

test('the example of a scrape passes `promtool check config` once its files exist', async () => {
  const folder = await aFolder('prometheus')
  await copyFile(rulesFile, join(folder, 'tenantry.rules.yml'))
  await writeFile(join(folder, 'tenantry.token'), 'a'.repeat(64))
  const example = (await readFile(scrapeExample, 'utf8')).replaceAll('/etc/prometheus/', `${folder}/`)
  expect(example).toContain(folder)
  await writeFile(join(folder, 'prometheus.yml'), example)
  expect(await promtool(['check', 'config', join(folder, 'prometheus.yml')])).toMatchObject({ good: true })
})

describe('what a daemon with boxes exposes', () => {
  let scraped: string
  let fleet: Awaited<ReturnType<typeof aSimulatedFleet>>
  beforeAll(async () => {
    fleet = await aSimulatedFleet()
    scraped = await fleet.scrape()
  })
  afterAll(() => fleet?.close())

  const ofPrometheus = ['up', 'ALERTS', 'scrape_duration_seconds', 'scrape_samples_scraped']
  const unknown = (text: string) => {
    const exposed = namesOfScrape(scraped)
    return namesIn(text).filter((name) => !exposed.has(name) && !ofPrometheus.includes(name))
  }

  test('has every metric that an alert rule names', () => {
    expect(unknown('tenantry_box_up + tenantry_nothing')).toEqual(['tenantry_nothing'])
    for (const { alert, expr } of rules()) expect([alert, namesIn(expr).length > 0, unknown(expr)]).toEqual([alert, true, []])
  })

  test('has every metric that a dashboard names', () => {
    expect(dashboards().map(([file]) => file)).toEqual(['box.json', 'daemon.json', 'fleet.json', 'hosts.json'])
    for (const [file, dashboard] of dashboards()) {
      for (const [title, expr] of queriesOf(dashboard))
        expect([file, title, namesIn(expr).length > 0, unknown(expr)]).toEqual([file, title, true, []])
      for (const { name, definition = '' } of dashboard.templating.list) expect([file, name, unknown(definition)]).toEqual([file, name, []])
    }
  })

  test('passes `promtool check metrics`, but for names of the Node.js client', async () => {
    const { says } = await promtool(['check', 'metrics'], { input: scraped })
    expect(says.split('\n').filter((line) => line !== '' && !line.startsWith('tenantry_nodejs_active_'))).toEqual([])
  })
})

describe('a dashboard', () => {
  const overlap = ({ gridPos: a }: Panel, { gridPos: b }: Panel) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h

  test.each(dashboards())('%s has panels that query something and do not cover each other', (file, { uid, panels, templating }) => {
    expect(uid).toBe(`tenantry-${file.replace('.json', '')}`)
    expect(panels.length).toBeGreaterThan(10)
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    expect(panels.filter(({ type, targets = [] }) => type !== 'row' && targets.length === 0)).toEqual([])
    const covered = panels.flatMap((one, n) =>
      panels.slice(n + 1).flatMap((other) => (overlap(one, other) ? [[one.title, other.title]] : [])),
    )
    expect(covered).toEqual([])
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([])
    const variables = templating.list.map(({ name }) => name)
    const used = [...JSON.stringify(panels).matchAll(/\$\{?(?!__)(\w+)/g)].map(([, name = '']) => name)
    expect(used.filter((name) => !variables.includes(name))).toEqual([])
  })
})
