// The files of the dead-letter page. The build replaces this module with one that contains their texts.
import { readFiles } from '../../web/read-files.js';

const NAMES = ['index.html', 'assets/page.css', 'assets/page.js', 'assets/preact-license.txt'];

export const page = () => readFiles('dist/dead-letter-page', NAMES);
