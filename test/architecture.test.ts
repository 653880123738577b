import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { eventTypes, StreamType } from '../src/core/events/index.ts'

const root = resolve(import.meta.dirname, '../src')

type Import = { from: string; to: string }

const sources = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
const imports: Import[] = sources.flatMap((from) => {
  const text = readFileSync(join(root, from), 'utf8')
  const statements = text.matchAll(/^(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'/gm)
  const bare = text.matchAll(/(?:^import|\bimport\()\s*'([^']+)'/gm)
  const found = [...statements, ...bare]
  return found.map((match) => ({ from, to: resolved(from, match[1] as string) }))
})

function resolved(from: string, specifier: string): string {
  return specifier.startsWith('.') ? relative(root, resolve(root, dirname(from), specifier)) : specifier
}

/** `daemon/rollouts/engine/step.ts` → `daemon/rollouts`; `core/api.ts` → `core/api.ts`. */
const room = (file: string) =>
  file
    .split('/')
    .slice(0, file.startsWith('node/') ? 1 : 2)
    .join('/')
const tree = (file: string) => file.split('/')[0]
const isOurs = (to: string) => /^(core|node|daemon|agent|cli|demo|console)\//.test(to)
const list = (wrong: Import[]) => [...new Set(wrong.map(({ from, to }) => `${from} -> ${to}`))]

test('a room is reached through its index alone', () => {
  const declaresTables = ({ from, to }: Import) => /\.tables\.ts$/.test(from) && to === 'daemon/db/database.ts'
  const migrationList = ({ to }: Import) => to.startsWith('daemon/db/migrations/')
  const wrong = imports.filter(
    (one) =>
      isOurs(one.to) &&
      room(one.from) !== room(one.to) &&
      !/\/index\.ts$/.test(one.to) &&
      one.to.split('/').length > 2 &&
      !declaresTables(one) &&
      !migrationList(one),
  )
  expect(list(wrong)).toEqual([])
})

test('core is pure: it imports core and a few pure libraries', () => {
  const allowed = /^(core\/|zod$|semver$|lru-cache$|@marcbachmann\/cel-js$|croner$|@babel\/(parser|types)$|@noble\/hashes\/)/
  expect(list(imports.filter(({ from, to }) => tree(from) === 'core' && !allowed.test(to)))).toEqual([])
})

test('each tree imports only what stands below it', () => {
  const below: Record<string, RegExp> = {
    core: /^core\//,
    node: /^(core|node)\//,
    daemon: /^(core|node|daemon)\//,
    agent: /^(core|node|agent)\//,
    cli: /^(core|node|cli)\//,
    rehearsal: /^(core|node|daemon|agent|rehearsal)\//,
    demo: /^(core|node|daemon|agent|demo)\//,
    console: /^(core|console)\//,
  }
  expect(list(imports.filter(({ from, to }) => isOurs(to) && !below[tree(from) as string]?.test(to)))).toEqual([])
})

test('only the docker room of the agent speaks to dockerode', () => {
  expect(list(imports.filter(({ from, to }) => to === 'dockerode' && room(from) !== 'agent/docker'))).toEqual([])
})

test('boxes never import rollouts', () => {
  expect(list(imports.filter(({ from, to }) => /\/boxes\//.test(from) && /^(core|daemon|cli)\/rollouts/.test(to)))).toEqual([])
})

/** The circles of a graph, as paths. */
function circlesOf(edges: readonly (readonly [from: string, to: string])[]): string[] {
  const below = new Map<string, Set<string>>()
  for (const [from, to] of edges) below.set(from, (below.get(from) ?? new Set()).add(to))
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (node: string, path: readonly string[]): void => {
    if (path.includes(node)) circles.push([...path.slice(path.indexOf(node)), node].join(' -> '))
    if (path.includes(node) || done.has(node)) return
    for (const next of below.get(node) ?? []) visit(next, [...path, node])
    done.add(node)
  }
  for (const node of below.keys()) visit(node, [])
  return circles
}

test.each(['core', 'daemon', 'agent', 'cli', 'console'])('the features of %s form no import circle, types included', (name) => {
  const between = imports.filter(({ from, to }) => tree(from) === name && tree(to) === name && room(from) !== room(to))
  expect(circlesOf(between.map(({ from, to }) => [room(from), room(to)]))).toEqual([])
})

test('files form no import circle, types included', () => {
  expect(circlesOf(imports.filter(({ to }) => isOurs(to)).map(({ from, to }) => [from, to]))).toEqual([])
})

/** Tables that every feature may read: a row of a tenant or a user is joined to its name. */
const readByAll = new Set(['tenants', 'users'])

/** Tables of other features that a feature reads, each for one joined query. Nobody writes them but their own feature. */
const tablesRead: Readonly<Record<string, readonly string[]>> = {
  boxes: ['box_restores', 'platform_addresses'],
  contacts: ['space_members'],
  files: ['spaces'],
  flows: ['alerts', 'boxes', 'spaces'],
  homeserver: ['boxes', 'hosts'],
  marketplace: ['billing_developers'],
  modules: ['marketplace_subscriptions'],
  payments: ['marketplace_items', 'marketplace_subscriptions', 'module_installations', 'store_developers', 'usage_events'],
  program: ['admin_accounts', 'alert_deliveries', 'audit', 'boxes', 'hosts', 'platform_addresses'],
  rollouts: ['alerts', 'audit', 'box_holds', 'boxes', 'hosts', 'manifests'],
  service: ['boxes', 'commands', 'hosts', 'rollouts'],
  snapshots: ['boxes', 'commands'],
  spaces: ['boxes'],
  tenants: ['boxes'],
  users: ['alerts', 'snapshots', 'spaces'],
  work: ['alerts', 'boxes'],
}

test('every event type that is declared is written by a feature of the daemon', () => {
  const text = sources
    .filter((file) => /^(daemon|core)\/(?!db\/|events\/|bootstrap\/)/.test(file))
    .map((file) => readFileSync(join(root, file), 'utf8'))
    .join('\n')
  const published = Object.entries(eventTypes).filter(([, { stream }]) => stream !== null)
  expect(new Set(published.map(([, { stream }]) => stream))).toEqual(new Set(StreamType.options))
  expect(published.map(([type]) => type).filter((type) => !text.includes(`'${type}'`))).toEqual([])
})

test('a feature writes its own tables alone, and reads those of others only where the list says so', () => {
  const daemon = sources.filter((file) => file.startsWith('daemon/') && !file.startsWith('daemon/db/'))
  const featureOf = (file: string) => file.split('/')[1] as string
  const textOf = (file: string) => readFileSync(join(root, file), 'utf8')
  const owners = new Map<string, string>()
  for (const file of daemon.filter((one) => textOf(one).includes('interface Tables {'))) {
    const [, tables = ''] = /interface Tables \{([^}]*)\}/.exec(textOf(file)) ?? []
    for (const [, table] of tables.matchAll(/^\s+(\w+):/gm)) owners.set(table as string, featureOf(file))
  }
  const used = (file: string, calls: RegExp) =>
    [...textOf(file).matchAll(calls)]
      .map(([, named, raw]) => (named ?? raw) as string)
      .filter((table) => (owners.get(table) ?? featureOf(file)) !== featureOf(file))
  const writes =
    /\b(?:insertInto|updateTable|deleteFrom|insertRows|updateRows|deleteRows)\(\s*'(\w+)|(?:insert into|delete from|\bupdate)\s+(?=\w+\s+(?:set|where|\())(\w+)/g
  const reads = /\b(?:(?:selectFrom|innerJoin|leftJoin)\(\s*\[?|readRow\(\w+, \{ table: )'(\w+)/g
  expect(daemon.flatMap((file) => used(file, writes).map((table) => `${file} writes ${table}`))).toEqual([])
  const read = daemon.flatMap((file) =>
    used(file, reads)
      .filter((table) => !readByAll.has(table))
      .map((table) => `${featureOf(file)} reads ${table}`),
  )
  const listed = Object.entries(tablesRead).flatMap(([feature, tables]) => tables.map((table) => `${feature} reads ${table}`))
  expect([...new Set(read)].sort()).toEqual(listed.sort())
})

test('the clock and chance are parameters outside kit and node', () => {
  const impure = /Date\.now\(|new Date\(\)|Math\.random\(/
  const wrong = sources.filter(
    (file) => !/^(core\/kit|node|console\/kit)\//.test(file) && impure.test(readFileSync(join(root, file), 'utf8')),
  )
  expect(wrong).toEqual([])
})

test('a room opens by saying what it is', () => {
  const indexes = sources.filter((file) => /^(core|daemon|agent|cli|console)\/[^/]+\/index\.ts$/.test(file))
  expect(indexes.filter((file) => !readFileSync(join(root, file), 'utf8').startsWith('// '))).toEqual([])
})
