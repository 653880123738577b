import { readdirSync, readFileSync } from 'node:fs'
import { execa } from 'execa'
import { parse } from 'yaml'

// The rules and dashboards that are handed out, and Prometheus itself.

export const rulesFile = 'deploy/prometheus/tenantry.rules.yml'
export const scrapeExample = 'deploy/prometheus/prometheus.yml'

export type Rule = Readonly<{ alert: string; expr: string; labels: Record<string, string>; annotations: Record<string, string> }>

export const rules = (): Rule[] =>
  (parse(readFileSync(rulesFile, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules)

type Box = Readonly<{ x: number; y: number; w: number; h: number }>
export type Panel = Readonly<{ id: number; type: string; title: string; gridPos: Box; targets?: readonly Readonly<{ expr: string }>[] }>
export type Dashboard = Readonly<{
  uid: string
  title: string
  panels: readonly Panel[]
  templating: { list: readonly Readonly<{ name: string; type: string; definition?: string }>[] }
}>

export const dashboards = (): [file: string, dashboard: Dashboard][] =>
  readdirSync('deploy/grafana').map((file) => [file, JSON.parse(readFileSync(`deploy/grafana/${file}`, 'utf8'))])

/** The queries of a dashboard by the title of their panel. */
export const queriesOf = ({ panels }: Dashboard): [title: string, expr: string][] =>
  panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }): [string, string] => [title, expr]))

/** Names of metrics in expressions and in `label_values(…)`: those of Tenantry, and those that Prometheus adds. */
export const namesIn = (text: string): string[] => [...new Set(text.match(/\b(tenantry_\w+|up\b|ALERTS|scrape_\w+)/g))]

/** Every name that an answer of `/metrics` has. */
export const namesOfScrape = (text: string): Set<string> =>
  new Set(text.split('\n').flatMap((line) => /^(?:# TYPE )?(tenantry_\w+)/.exec(line)?.[1] ?? []))

/** Never skipped: only Prometheus itself proves its rules. */
export const promtool = (args: readonly string[], options: Readonly<{ cwd?: string; input?: string }> = {}) =>
  run('promtool', args, options)

async function run(program: string, args: readonly string[], options: Readonly<{ cwd?: string; input?: string }>) {
  const { exitCode, stdout, stderr, code } = await execa(program, args, { ...options, reject: false })
  if (code === 'ENOENT') throw new Error(`these tests need ${program}: apt-get install -y --no-install-recommends prometheus`)
  return { good: exitCode === 0, says: `${stdout}\n${stderr}` }
}
