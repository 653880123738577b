import type { MetricObject } from 'prom-client'
import { expect, test } from 'vitest'
import { namedFamilies } from '../../../src/daemon/service/index.ts'
import { composedDaemon } from '../../support/composed-daemon.ts'

const head = `# Metrics
Made from the metrics of a daemon by \`npx vitest run test/daemon/service/metrics-page.test.ts --update\`.
[Monitoring](monitoring.md) says how to scrape them, and has rules and dashboards. A value that is not known is absent.
`

type Described = Readonly<{ name: string; type: string; labels: readonly string[]; help: string }>

const sections: readonly (readonly [title: string, intro: string, has: (name: string) => boolean])[] = [
  [
    'Boxes',
    'Per live box, only with `metrics.tokenFile`. Values are those of the last report. `box` is the slug.',
    (name) => name in namedFamilies && !name.startsWith('tenantry_host_'),
  ],
  [
    'Hosts',
    'Per host that is not revoked, only with `metrics.tokenFile`. Resources are as last reported, once a minute.',
    (name) => name in namedFamilies,
  ],
  ['Process', 'Of the process of the daemon, as its client library names them.', (name) => /^tenantry_(process|nodejs)_/.test(name)],
  ['Fleet and daemon', 'Counts and ages without names of boxes and hosts.', () => true],
]

/** Lines of a list item of at most 118 characters. */
const folded = (text: string): string =>
  text.split(' ').reduce((lines, word) => {
    const length = lines.length - (lines.lastIndexOf('\n') + 1)
    return lines === '' ? `  ${word}` : `${lines}${length + 1 + word.length > 118 ? '\n  ' : ' '}${word}`
  }, '')

test('the page of metrics is made from those of a daemon', async () => {
  const { metrics } = await composedDaemon()
  const types = new Map((await metrics.registry.getMetricsAsJSON()).map(({ name, type }) => [name, String(type)]))
  const registered = metrics.registry.getMetricsAsArray() as (MetricObject & { labelNames?: readonly string[] })[]
  const all: Described[] = [
    ...Object.entries(namedFamilies).map(([name, family]) => ({ name, ...family })),
    ...registered.map(({ name, help, labelNames = [] }) => ({ name, help, labels: labelNames, type: types.get(name) ?? 'gauge' })),
  ]
  expect(all.filter(({ help }) => help.trim() === '')).toEqual([])
  const sectionOf = ({ name }: Described) => sections.find(([, , has]) => has(name))?.[0]
  const page = sections.map(([title, intro]) => {
    const items = all
      .filter((metric) => sectionOf(metric) === title)
      .map(({ name, type, labels, help }) => {
        const shown = labels.length === 0 ? '' : `{${labels.join(',')}}`
        return `- \`${name}${shown}\` (${type})\\\n${folded(`${help.replace(/\.$/, '')}.`)}\n`
      })
    return `\n## ${title}\n${intro}\n\n${items.join('')}`
  })
  await expect(head + page.join('')).toMatchFileSnapshot('../../../docs/metrics.md')
})
