/** Answers of the API as a client sees them, page after page, to compare those of two servers. */
import { z } from 'zod';

/** Pages followed by their cursors. */
const MOST_PAGES = 12;

const Page = z.object({ next_cursor: z.string().nullable().optional() });

export interface Answered {
  status: number;
  body: string;
}

/** One answer. `url`: of the HTTP server, without a path. */
export async function get(url: string, path: string): Promise<Answered> {
  const response = await fetch(`${url}/api/v3${path}`);
  return { status: response.status, body: await response.text() };
}

/** All pages where the request asks for a cursor, else the one. */
export async function pages(url: string, path: string): Promise<Answered[]> {
  const answers = [await get(url, path)];
  if (!path.includes('cursor=')) return answers;
  while (answers.length < MOST_PAGES && answers[answers.length - 1].status === 200) {
    const { next_cursor: next } = Page.parse(JSON.parse(answers[answers.length - 1].body));
    if (!next) break;
    answers.push(await get(url, path.replace(/cursor=[^&]*/, `cursor=${encodeURIComponent(next)}`)));
  }
  return answers;
}
