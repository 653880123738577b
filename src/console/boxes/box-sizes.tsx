import { useQuery } from '@tanstack/react-query'
import { type BoxDetail, type BoxSizes, growthText } from '../../core/boxes/index.ts'
import { bytesText } from '../../core/kit/index.ts'
import { Loaded, Section } from '../kit/index.ts'
import { sizesQuery } from './queries.ts'
import { sizeChart } from './size-lines.ts'
import { words } from './words.ts'
import './boxes.css'

/** Database, media and objects of a box over 30 days. */
export function Sizes({ box: { slug, growth } }: Readonly<{ box: BoxDetail }>) {
  const query = useQuery(sizesQuery(slug))
  return (
    <Section title={words.sizes} aside={growth && `${bytesText(growth.totalBytes)}, ${growthText(growth)}`}>
      <Loaded query={query} rows={3}>
        {({ days }) => <Chart days={days} />}
      </Loaded>
    </Section>
  )
}

const [width, height] = [600, 96]

function Chart({ days }: Readonly<{ days: readonly BoxSizes[] }>) {
  const chart = sizeChart(days, { width, height })
  if (!chart) return <p className="dim">{words.noSizes}</p>
  const { lines, maxBytes, from, to } = chart
  const legend = lines.map(({ part, lastBytes }) => ({ part, text: `${words.sizeParts[part]} ${bytesText(lastBytes)}` }))
  return (
    <figure className="sizes">
      <div className="sizes-scale" aria-hidden="true">
        <span>{bytesText(maxBytes)}</span>
        <span>0</span>
      </div>
      <svg
        viewBox={`0 -4 ${width} ${height + 8}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={words.sizesLabel(from, to, legend.map(({ text }) => text).join(', '))}
      >
        <line className="sizes-axis" x1={0} x2={width} y1={height} y2={height} />
        {lines.map(({ part, runs }) =>
          runs.map((points) => <polyline key={`${part} ${points}`} className={`sizes-line ${part}`} points={points} />),
        )}
      </svg>
      <div className="sizes-days" aria-hidden="true">
        <span>{from}</span>
        <span>{to}</span>
      </div>
      <figcaption className="sizes-legend">
        {legend.map(({ part, text }) => (
          <span key={part}>
            <i className={part} aria-hidden="true" />
            {text}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}
