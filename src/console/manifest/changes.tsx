import type { ManifestChange } from '../../core/boxes/index.ts'
import { words } from './words.ts'

const { columns } = words

/** One line per value that differs. */
export const Changes = ({ changes, label }: Readonly<{ changes: readonly ManifestChange[]; label: string }>) => (
  <table className="plain-table changes" aria-label={label}>
    <thead>
      <tr>
        <th>{columns.path}</th>
        <th>{columns.from}</th>
        <th>{columns.to}</th>
      </tr>
    </thead>
    <tbody>
      {changes.map(({ path, from, to }) => (
        <tr key={path}>
          <td>
            <code>{path}</code>
          </td>
          <td>{from === null ? <span className="dim">–</span> : <del>{from}</del>}</td>
          <td>{to === null ? <span className="dim">–</span> : <ins>{to}</ins>}</td>
        </tr>
      ))}
    </tbody>
  </table>
)
