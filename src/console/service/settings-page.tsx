import { useQuery } from '@tanstack/react-query'
import type { Setting } from '../../core/service/index.ts'
import { api, CliLine, ListPage, type TableColumn } from '../kit/index.ts'
import { words } from './words.ts'

const columns: readonly TableColumn<Setting>[] = [
  { key: 'key', title: 'Key', width: 'minmax(180px, 2fr)', value: ({ key }) => key, cell: ({ key }) => <code>{key}</code> },
  {
    key: 'value',
    title: 'Value',
    width: 'minmax(160px, 3fr)',
    value: ({ value }) => value,
    cell: ({ value }) => (value === null ? <span className="dim">{words.notSet}</span> : <code title={value}>{value}</code>),
  },
  { key: 'origin', title: words.origin, width: '110px', value: ({ origin }) => origin },
  {
    key: 'variable',
    title: 'Variable',
    width: 'minmax(200px, 2fr)',
    value: ({ variable }) => variable,
    cell: ({ variable }) => (
      <code className="dim" title={variable}>
        {variable}
      </code>
    ),
  },
]

export function Page() {
  const query = useQuery({ queryKey: ['settings', 'list'], queryFn: () => api.service.listSettings() })
  const settings = query.data?.settings
  return (
    <ListPage
      title={words.title}
      answer={settings && words.answer(settings.filter(({ origin }) => origin !== 'default').length, settings.length)}
      filters={[
        { text: words.filter, of: ({ key, variable }) => `${key} ${variable}` },
        { label: words.origin, name: 'origin', choices: ['default', 'file', 'environment'], of: ({ origin }) => origin },
      ]}
      query={query}
      rows={({ settings: all }) => all}
      columns={columns}
      rowKey={({ key }) => key}
      empty={null}
      below={() => <CliLine>tenantry settings list</CliLine>}
      reserve={240}
    />
  )
}
