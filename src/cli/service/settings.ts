import type { Setting } from '../../core/service/index.ts'
import { type Column, command, flag, noun, type Style, table } from '../kit/index.ts'

const columns: Column<Setting>[] = [
  { title: 'KEY', value: ({ key }) => key, priority: 1, minWidth: 16 },
  { title: 'VALUE', value: ({ value }) => value, priority: 1, minWidth: 12 },
  { title: 'ORIGIN', value: ({ origin }) => origin, priority: 2 },
  { title: 'VARIABLE', value: ({ variable }) => variable, priority: 3, minWidth: 16 },
]

const list = command('list', 'List the settings of the daemon without secrets', {
  options: { changed: flag('--changed', 'only those set by file or environment') },
  run: async ({ api }, { changed }) => {
    const { settings } = await api.service.listSettings()
    return { settings: changed ? settings.filter(({ origin }) => origin !== 'default') : settings }
  },
  view: ({ settings }, style: Style) => (settings.length === 0 ? 'All settings have their defaults.' : table(style, columns, settings)),
  examples: ['list --changed'],
})

export const settings = noun('settings', 'Show the settings of the daemon', [list])
