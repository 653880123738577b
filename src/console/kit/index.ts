// The parts that every page is made of: layout, table, time, status, dialog, problem, live stream, and the typed client of the daemon.
// It knows no page and no feature.
export { quoted } from '../../core/kit/index.ts'
export { ActionDialog, type ActionInput } from './action-dialog.tsx'
export { type Api, api, onProofRequired, onSessionEnd, roleFor, type ShownProblem } from './api.ts'
export { usePaletteAction } from './asked.ts'
export { Breakable } from './breakable.tsx'
export { Check, Choices, Field, FileField } from './choice.tsx'
export { now, useNow, useSeconds } from './clock.ts'
export { closed } from './closed.ts'
export { actionColumn, agoColumn, statusColumn } from './columns.tsx'
export { Button, CliLine, CopyButton, hasKeys, Id, paletteKey } from './controls.tsx'
export { DataTable } from './data-table.tsx'
export { type Decision, DecisionPage } from './decision-page.tsx'
export {
  type Badge,
  type ConsoleFeature,
  type ConsolePage,
  consoleFeature,
  type NavGroup,
  navGroups,
  type PaletteEntry,
} from './feature.ts'
export { ChoiceFilter, DayFilter, startOfDay, TextFilter } from './filters.tsx'
export { Brand, useCriticalInTitle, usePageTitle } from './installation.tsx'
export { type Fact, KeyValues, Link, PageHeader, Scroll, Section } from './layout.tsx'
export { ListPage } from './list-page.tsx'
export { followEvents, followStream, useStreamState } from './live.ts'
export { Pages } from './pages-of-list.tsx'
export { Picture } from './picture.tsx'
export { PlainList, TableHead } from './plain-list.tsx'
export { allPages, makeQueryClient, pollMs, queryClient, useAsOf } from './queries.ts'
export { parseSearch, type SearchState, stringifySearch, useSearchState } from './search-state.ts'
export { useMay, useRole, useWhoAmI, whoAmIQuery } from './session.tsx'
export { Sheet, useAttempt } from './sheet.tsx'
export { Empty, Loaded, Loading, ProblemView } from './states.tsx'
export { Icon, Status, type Tone } from './status.tsx'
export type { TableColumn } from './table-column.ts'
export { type Selection, withKey } from './table-selection.tsx'
export { type KitTexts, KitTextsProvider } from './texts.tsx'
export { applyTheme, type Theme, themes, useTheme } from './theme.ts'
export { Ago, At, ago, Duration, dayAndTime, Elapsed, exactTime, timeOfDay } from './time.tsx'
export { type StripMark, Timeline, type TimelineEntry, TimeStrip } from './timeline.tsx'
export { isBlocked, isTyping } from './typing.ts'
