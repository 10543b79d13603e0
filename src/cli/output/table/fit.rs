//! Widths of columns for a terminal. Pure.

/// Blanks between two columns.
pub const GAP: usize = 2;

/// The widths that a column can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnNeed {
    /// Width of its longest value.
    pub natural: usize,
    /// Width below which it is of no use.
    pub least: usize,
    /// Order in which columns leave a narrow terminal, the highest number first. 0 always stays.
    pub leaves: u8,
}

/// The width of each column, `None` for a column that has no place in `width` columns of a terminal.
pub fn widths(needs: &[ColumnNeed], width: usize) -> Vec<Option<usize>> {
    let mut shown: Vec<bool> = vec![true; needs.len()];
    while sum(needs, &shown) > width {
        let staying = (0..needs.len()).filter(|index| shown[*index] && needs[*index].leaves > 0);
        // Of equal ones the last column leaves first.
        let Some(next) = staying.max_by_key(|index| (needs[*index].leaves, *index)) else { break };
        shown[next] = false;
    }
    let mut spare = width.saturating_sub(sum(needs, &shown));
    let mut fitted: Vec<Option<usize>> =
        needs.iter().zip(&shown).map(|(need, shown)| shown.then_some(need.least)).collect();
    let mut grew = true;
    while spare > 0 && grew {
        grew = false;
        for (column, need) in fitted.iter_mut().zip(needs) {
            let Some(column) = column.as_mut().filter(|column| **column < need.natural) else {
                continue;
            };
            if spare == 0 {
                break;
            }
            *column += 1;
            spare -= 1;
            grew = true;
        }
    }
    fitted
}

/// The least width of the shown columns with their gaps.
fn sum(needs: &[ColumnNeed], shown: &[bool]) -> usize {
    let shown: Vec<usize> =
        needs.iter().zip(shown).filter(|(_, shown)| **shown).map(|(need, _)| need.least).collect();
    shown.iter().sum::<usize>() + GAP * shown.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn need(natural: usize, least: usize, leaves: u8) -> ColumnNeed {
        ColumnNeed { natural, least, leaves }
    }

    #[test]
    fn columns_shrink_before_they_leave() {
        let needs = [need(10, 10, 0), need(60, 20, 0), need(30, 30, 1)];
        assert_eq!(widths(&needs, 104), [Some(10), Some(60), Some(30)]);
        assert_eq!(widths(&needs, 80), [Some(10), Some(36), Some(30)]);
        assert_eq!(widths(&needs, 60), [Some(10), Some(48), None]);
    }

    #[test]
    fn the_least_important_column_leaves_first() {
        let needs = [need(10, 10, 0), need(10, 10, 2), need(10, 10, 1), need(10, 10, 2)];
        let shown = |width| widths(&needs, width).iter().map(Option::is_some).collect::<Vec<_>>();
        assert_eq!(shown(46), [true, true, true, true]);
        assert_eq!(shown(45), [true, true, true, false]);
        assert_eq!(shown(33), [true, false, true, false]);
        assert_eq!(shown(0), [true, false, false, false]);
    }

    #[test]
    fn no_table_is_wider_than_its_place() {
        for width in 20..200 {
            let needs = [need(19, 19, 0), need(255, 1, 0), need(21, 21, 3), need(80, 12, 5)];
            let fitted: Vec<usize> = widths(&needs, width).into_iter().flatten().collect();
            let used = fitted.iter().sum::<usize>() + GAP * (fitted.len() - 1);
            assert!(used <= width.max(22), "{width}: {fitted:?}");
        }
    }
}
